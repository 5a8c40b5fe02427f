// tile.js: one tile: a person, one more camera of theirs, or a screen. Picture or initials, name, what is muted.
import { hue, icon, initials, make } from "./view.js";

export class Tile {
  #video = make("video", { autoplay: true, playsInline: true, muted: true });
  #initials = make("span");
  #avatar = make("div", { className: "avatar" }, this.#initials);
  #name = make("span", { className: "name" });
  #flags = make("span", { className: "flags" });
  #away = make("span", { className: "away", hidden: true });
  #pin = make("button", { type: "button", className: "pin" });
  #audio = new Map();
  #play; #shown; #track; #box = {};
  root = make("article", { className: "tile" });

  /**
   * @param {string} key
   * @param {object} actions `play(element)`, `stopSharing()`, `shaped()`: its picture has another shape now, `shown(track, height)`
   */
  constructor(key, { play, stopSharing, shaped, shown }) {
    this.#play = play;
    this.#shown = shown;
    this.stopSharing = stopSharing;
    this.root.setAttribute("role", "listitem");
    this.root.dataset.key = key;
    this.#video.setAttribute("muted", "");
    for (const type of ["loadedmetadata", "resize"]) this.#video.addEventListener(type, shaped);
    new ResizeObserver(([{ contentRect }]) => {
      this.#box = contentRect;
      this.#tellHeight();
    }).observe(this.root);
    this.root.append(this.#avatar, this.#video, this.#away, make("footer", {}, this.#flags, this.#name, icon("i-bars", "")), this.#pin);
  }

  /** Width divided by height of its picture, once that is known. @returns {number|undefined} */
  get aspect() {
    const { videoWidth, videoHeight } = this.#video;
    return videoWidth && videoHeight ? videoWidth / videoHeight : undefined;
  }

  /** @param {TileState} state */
  show(state) {
    const { kind, name, title, isSelf, away, picture } = state;
    const data = this.root.dataset;
    Object.assign(data, { kind, name, participant: state.participantId });
    data.audio = state.hasAudio ? (state.audioMuted ? "muted" : "on") : "none";
    data.video = state.hasVideo ? (state.videoMuted ? "muted" : "on") : "none";
    this.root.classList.toggle("self", isSelf);
    this.#name.textContent = title;
    this.#showWeakness(state);
    this.#away.textContent = away;
    this.#away.hidden = !away || kind === "sharing";
    this.#initials.textContent = initials(name);
    this.#initials.style.setProperty("--hue", hue(name));
    this.#video.hidden = !picture;
    this.#attach(this.#video, picture);
    this.#track = state.track;
    this.#tellHeight();
    this.#showFlags(state);
    this.#showSounds(state.sounds);
    this.#showButtons(kind, title);
    const muted = [data.audio !== "on" && "microphone off", data.video !== "on" && "camera off"].filter(Boolean);
    const hand = state.hand && "hand raised";
    this.root.setAttribute("aria-label", [title, ...(kind === "person" ? [hand, ...muted, state.weak].filter(Boolean) : [])].join(", "));
  }

  /** Bars beside the name, and the words where one points at the tile. */
  #showWeakness({ kind, weak, level }) {
    const isShown = kind === "person" && Boolean(weak);
    this.root.dataset.weak = isShown ? level : "";
    this.#pin.title = isShown ? weak : "";
  }

  /** @param {?{role: string, x: number, y: number, width: number, height: number}} place null while it is on another page */
  stand(place) {
    this.root.hidden = !place;
    if (!place) return;
    this.root.dataset.role = place.role;
    for (const [side, value] of [["left", place.x], ["top", place.y], ["width", place.width], ["height", place.height]]) {
      this.root.style.setProperty(side, `${value.toFixed(2)}px`);
    }
  }

  pinned(yes) {
    this.root.classList.toggle("pinned", yes);
    this.#pin.setAttribute("aria-pressed", String(yes));
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
    for (const element of [this.#video, ...this.#audio.values()]) if (element.srcObject) this.#play(element);
  }

  /** Over the whole screen, or back. */
  fullScreen() {
    if (document.fullscreenElement) return document.exitFullscreen();
    if (this.root.requestFullscreen) return this.root.requestFullscreen();
    this.#video.webkitEnterFullscreen?.(); // iPhones show nothing but videos so
  }

  /** A person's picture fills the tile, others fit in: as style.css has it. A tile on another page has no height. */
  #tellHeight() {
    const { width, height } = this.#box;
    if (!this.#track || width === undefined) return;
    const whole = width / (this.aspect ?? 16 / 9);
    this.#shown(this.#track, devicePixelRatio * (this.root.dataset.kind === "person" ? Math.max(height, whole) : Math.min(height, whole)));
  }

  #showButtons(kind, title) {
    if (kind !== "sharing") return this.#pin.setAttribute("aria-label", `Show ${title} large`);
    if (!this.#pin.parentNode) return; // it is so already
    const stop = make("button", { type: "button", className: "stop small", onclick: this.stopSharing }, "Stop sharing");
    this.#avatar.replaceChildren(icon("i-screen", ""));
    this.#pin.replaceWith(stop);
  }

  #showFlags({ kind, hand, audioMuted, videoMuted, hasAudio, hasVideo }) {
    const wanted = `${kind === "person" && hand ? "h" : ""}${kind === "person" && (!hasAudio || audioMuted) ? "a" : ""}${hasVideo && videoMuted ? "v" : ""}`;
    if (this.#flags.dataset.shown === wanted) return;
    this.#flags.dataset.shown = wanted;
    this.#flags.replaceChildren(
      ...(wanted.includes("h") ? [icon("i-hand", "hand raised")] : []),
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
    if (track) this.#play(element);
  }
}
