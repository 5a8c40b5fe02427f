// view.js: people and messages as elements. Everything a stranger wrote goes in as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element with properties and children; strings become text. */
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/**
 * Makes the children of an element those. What looks as before stays: it keeps the focus, and a finger that is on its way to a
 * button finds it there. So what a button does must follow from what is shown (`data-user`, `data-call`).
 */
export function fill(parent, children) {
  children.forEach((child, place) => {
    const before = parent.children[place];
    if (!before) parent.append(child);
    else if (!before.isEqualNode(child)) replace(before, child);
  });
  while (parent.children.length > children.length) parent.lastElementChild.remove();
}

/** Whoever had the focus on a button finds it on the one that says the same now. */
function replace(before, child) {
  const label = before.contains(document.activeElement) ? document.activeElement.ariaLabel : null;
  before.replaceWith(child);
  if (label) [child, ...child.querySelectorAll("button")].find(({ ariaLabel }) => ariaLabel === label)?.focus();
}

/** A picture of the page's own; with an empty label it is decoration. */
export function icon(name, label) {
  const svg = document.createElementNS(SVG, "svg");
  svg.classList.add("icon");
  if (label) {
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
  } else {
    svg.setAttribute("aria-hidden", "true");
  }
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#${name}`);
  svg.append(use);
  return svg;
}

function initials(name) {
  const words = name.trim().split(/\s+/);
  return (words.length > 1 ? [words[0], words.at(-1)] : [words[0]]).map((word) => [...word][0] ?? "").join("").toUpperCase() || "?";
}

function hue(name) {
  return [...name].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 360, 7);
}

/** Somebody's initials on his colour. */
export function avatar(name) {
  const circle = make("span", { className: "face", ariaHidden: "true" }, initials(name));
  circle.style.setProperty("--hue", hue(name));
  return circle;
}

/** A name, and below it how it stands. */
export const about = (name, state) => make("div", {}, make("strong", {}, name), make("span", { className: "state" }, state));

/** One person, or one more picture of his, such as his screen: picture or initials, name, what is muted. */
class Tile {
  #video = make("video", { autoplay: true, playsInline: true, muted: true });
  #avatar = make("div", { className: "avatar" }, make("span"));
  #name = make("span", { className: "name" });
  #flags = make("span", { className: "flags" });
  #away = make("span", { className: "away", hidden: true }, "reconnecting…");
  #audio = new Map();
  root = make("article", { className: "tile" });

  constructor(play) {
    this.play = play;
    this.root.setAttribute("role", "listitem");
    this.#video.setAttribute("muted", "");
    this.root.append(this.#avatar, this.#video, this.#away, make("footer", {}, this.#flags, this.#name));
  }

  /** @param {{name, title, isSelf, isMore, away, picture, videoMuted, audioMuted, hasAudio, sounds}} state */
  show(state) {
    const { name, title, isSelf, isMore, away, picture } = state;
    const data = this.root.dataset;
    Object.assign(data, { name, audio: state.hasAudio ? (state.audioMuted ? "muted" : "on") : "none" });
    data.video = state.hasVideo ? (state.videoMuted ? "muted" : "on") : "none";
    this.root.classList.toggle("self", isSelf);
    this.root.classList.toggle("more", isMore);
    this.#name.textContent = title;
    this.#away.hidden = !away;
    const span = this.#avatar.firstChild;
    span.textContent = initials(name);
    span.style.setProperty("--hue", hue(name));
    this.#video.hidden = !picture;
    this.#attach(this.#video, picture);
    this.#showFlags(state);
    this.#showSounds(state.sounds);
    const muted = [data.audio !== "on" && "microphone off", data.video !== "on" && "camera off"].filter(Boolean);
    this.root.setAttribute("aria-label", [title, ...(isMore ? [] : muted)].join(", "));
  }

  speaking(yes) {
    this.root.classList.toggle("speaking", yes);
  }

  remove() {
    this.#attach(this.#video, null);
    this.#showSounds([]);
    this.root.remove();
  }

  resume() {
    for (const element of [this.#video, ...this.#audio.values()]) if (element.srcObject) this.play(element);
  }

  #showFlags({ isMore, audioMuted, videoMuted, hasAudio, hasVideo }) {
    const wanted = `${!isMore && (!hasAudio || audioMuted) ? "a" : ""}${hasVideo && videoMuted ? "v" : ""}`;
    if (this.#flags.dataset.shown === wanted) return;
    this.#flags.dataset.shown = wanted;
    this.#flags.replaceChildren(
      ...(wanted.includes("a") ? [icon("i-mic-off", "microphone off")] : []),
      ...(wanted.includes("v") ? [icon("i-cam-off", "camera off")] : []));
  }

  #showSounds(tracks) {
    for (const [track, element] of this.#audio) {
      if (tracks.includes(track)) continue;
      this.#attach(element, null);
      element.remove();
      this.#audio.delete(track);
    }
    for (const track of tracks) {
      if (this.#audio.has(track)) continue;
      const element = make("audio", { autoplay: true });
      this.#audio.set(track, element);
      this.root.append(element);
      this.#attach(element, track);
    }
  }

  #attach(element, track) {
    if ((element.srcObject?.getTracks()[0] ?? null) === track) return;
    element.srcObject = track ? new MediaStream([track]) : null;
    if (track) this.play(element);
  }
}

/** The grid of people, oneself first. */
export class Grid {
  #root; #tiles = new Map(); #play;

  /** @param {HTMLElement} root @param {(element: HTMLMediaElement) => void} play starts it, and tells when the browser refuses */
  constructor(root, play) {
    this.#root = root;
    this.#play = play;
    new ResizeObserver(() => this.layout()).observe(root);
  }

  /** Brings the tiles in line with the room. */
  render(room) {
    const wanted = new Map();
    const people = [...room.participants.values()].sort((a, b) => Number(b.isSelf) - Number(a.isSelf));
    for (const person of people) for (const [key, state] of tilesOf(room, person)) wanted.set(key, state);
    for (const [key, tile] of this.#tiles) {
      if (wanted.has(key)) continue;
      tile.remove();
      this.#tiles.delete(key);
    }
    let place = 0;
    for (const [key, state] of wanted) {
      const tile = this.#tiles.get(key) ?? new Tile(this.#play);
      tile.root.dataset.participant = state.participantId;
      this.#tiles.set(key, tile);
      if (this.#root.children[place] !== tile.root) this.#root.insertBefore(tile.root, this.#root.children[place] ?? null);
      tile.show(state);
      place += 1;
    }
    // Two in a call: the other large, oneself small in a corner. The elements stay the same as more people come.
    this.#root.classList.toggle("pair", Boolean(room.callId) && this.#tiles.size === 2 && people.length === 2);
    this.layout();
  }

  clear() {
    for (const tile of this.#tiles.values()) tile.remove();
    this.#tiles.clear();
  }

  /** @param {Set<string>} participantIds who speaks */
  speaking(participantIds) {
    for (const [key, tile] of this.#tiles) tile.speaking(participantIds.has(key));
  }

  /** Plays what the browser held back until the user touched the page. */
  resume() {
    for (const tile of this.#tiles.values()) tile.resume();
  }

  /** As many columns as make the tiles largest. */
  layout() {
    const { clientWidth: width, clientHeight: height } = this.#root;
    const count = this.#root.classList.contains("pair") ? 1 : this.#tiles.size;
    if (!count || !width) return;
    const gap = 10;
    let best = 0;
    for (let columns = 1; columns <= count; columns++) {
      const rows = Math.ceil(count / columns);
      const byWidth = (width - gap * (columns - 1)) / columns;
      const byHeight = (((height - gap * (rows - 1)) / rows) * 16) / 9;
      best = Math.max(best, Math.min(byWidth, byHeight));
    }
    const least = Math.min(width, 150);
    this.#root.style.setProperty("--tile-width", `${Math.floor(Math.max(best, least))}px`);
  }
}

function tilesOf(room, person) {
  const tracks = person.isSelf ? [...room.localTracks] : [...person.tracks.values()];
  const name = person.displayName || person.user;
  const common = { name, participantId: person.participantId, isSelf: person.isSelf, away: person.state === "reconnecting" };
  const pictures = tracks.filter(({ kind }) => kind === "video");
  const isScreen = ({ label }) => label === "screen";
  // Of a device with several views the first stands for it.
  const [video, ...views] = pictures.filter((track) => !isScreen(track)).sort((a, b) => (a.viewIndex ?? 0) - (b.viewIndex ?? 0));
  const more = [...views, ...pictures.filter(isScreen)].filter(({ mediaStreamTrack }) => mediaStreamTrack);
  const shown = (track) => (track && !track.muted && track.mediaStreamTrack) || null;
  const audio = tracks.filter(({ kind }) => kind === "audio");
  const main = {
    ...common, title: person.isSelf ? `${name} (you)` : name, isMore: false,
    hasVideo: Boolean(video), videoMuted: Boolean(video?.muted), picture: shown(video),
    hasAudio: audio.length > 0, audioMuted: audio.every(({ muted }) => muted),
    sounds: person.isSelf ? [] : audio.map(({ mediaStreamTrack }) => mediaStreamTrack).filter(Boolean),
  };
  return [[person.participantId, main], ...more.map((track) => [track.trackId ?? track.label, {
    ...common, title: isScreen(track) ? `${name}’s screen` : `${name}: ${track.label}`, isMore: true, hasVideo: true, videoMuted: track.muted,
    picture: shown(track), hasAudio: false, audioMuted: true, sounds: [],
  }])];
}

/** A chat message. @param {{text: string, ts: string|number, to?: string[]}} message @param {string} from @param {string} to "" for everybody */
export function messageElement(message, from, to, mine) {
  const time = new Date(message.ts);
  const who = make("div", { className: "who" }, make("strong", {}, mine ? "You" : from));
  if (to) who.append(" ", make("span", { className: "private" }, `only to ${to}`));
  if (!Number.isNaN(time.valueOf())) {
    who.append(" ", make("time", { dateTime: time.toISOString() }, time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })));
  }
  const item = make("li", { className: mine ? "mine" : "" }, who, make("p", {}, message.text));
  item.dataset.from = from;
  return item;
}
