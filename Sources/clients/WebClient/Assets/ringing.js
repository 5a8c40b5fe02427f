// ringing.js: what a callee sees while it rings, the dialog, and what a caller sees, the panel over the stage.
import { $, announce, clock, onSubmit } from "./page.js";
import * as tones from "./tones.js";
import { about, avatar, fill, make } from "./view.js";
import { isUnanswered, list, nameOf, stateOf } from "./words.js";

const QUICK = ["I can’t talk now.", "I’ll call you back.", "Write to me, please."];

/** Calls that ring here, one shown at a time: the first stays until it is over, so that nobody answers the wrong one. */
export class RingDialog {
  #calls = []; #dialog = $("ring"); #timer = null; #notice = null; #actions;

  /** @param {object} actions `answer(call, media)`, `decline(call, text?)`, `ignore(call)`, `isInRoom()`, `sound()`: it rings, or rings no more */
  constructor(actions) {
    this.#actions = actions;
    const act = (run) => () => this.#calls[0] && run(this.#calls[0]);
    $("ring-video").onclick = act((call) => actions.answer(call, "video"));
    $("ring-voice").onclick = act((call) => actions.answer(call, "audio"));
    $("ring-decline").onclick = act((call) => actions.decline(call));
    $("ring-ignore").onclick = act((call) => actions.ignore(call));
    $("ring-quick").replaceChildren(...QUICK.map((text) =>
      make("button", { type: "button", className: "chip", onclick: act((call) => actions.decline(call, text)) }, text)));
    onSubmit("ring-form", act((call) => actions.decline(call, $("ring-text").value.trim() || undefined)));
    // Escape silences this device, and does not decline: a key pressed by chance must not send somebody away.
    this.#dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      act((call) => actions.ignore(call))();
    });
  }

  /** A call rings, or changed while it rang, or rings no more. */
  update(call) {
    const known = this.#calls.includes(call);
    if (call.isRinging && !known) this.#calls.push(call);
    if (!call.isRinging && known) this.#calls = this.#calls.filter((other) => other !== call);
    if (call.isRinging || known) this.#show();
  }

  clear() {
    this.#calls = [];
    this.#show();
  }

  /** What answering would end has ended by itself, perhaps. */
  refresh() {
    if (this.isRinging) this.#words(this.#calls[0]);
  }

  #show() {
    const [call] = this.#calls;
    if (!call) return this.#hide();
    this.#words(call);
    if (!this.#dialog.open) {
      // A dialog over another one would leave the older unreachable.
      for (const open of document.querySelectorAll("dialog[open]")) open.close();
      this.#dialog.showModal();
      $("ring-title").focus();
      clearInterval(this.#timer);
      this.#timer = setInterval(() => this.#tick(), 250);
    }
    if (this.#dialog.dataset.call !== call.callId) this.#begin(call);
    this.#tick();
  }

  #words(call) {
    const from = nameOf(call, call.from);
    const video = call.media === "video";
    const [line, ...lines] = [`${video ? "Video" : "Voice"} call`, this.#others(call), call.waiting || this.#actions.isInRoom() ? "Answering leaves the call or room you are in." : ""];
    $("ring-avatar").replaceChildren(avatar(from));
    $("ring-title").textContent = `${from} is calling`;
    $("ring-kind").textContent = line;
    $("ring-about").textContent = lines.filter(Boolean).join(" ");
    $("ring-video").hidden = !video;
    $("ring-queue").textContent = this.#calls.length > 1 ? `${this.#calls.length - 1} more calling` : "";
  }

  #others(call) {
    const names = call.others.filter(({ user }) => user !== call.from).map(({ user }) => nameOf(call, user));
    if (call.inProgress && names.length) return `A call with ${list(names)} is going on.`;
    return names.length ? `${list(names)} ${names.length > 1 ? "are" : "is"} being called too.` : "";
  }

  #begin(call) {
    this.#dialog.dataset.call = call.callId;
    this.#dialog.dataset.total = String(Math.max(1000, call.remainingMs));
    // What was being written to the one before is not for this one.
    $("ring-text").value = "";
    $("ring-more").open = false;
    const words = `${$("ring-title").textContent}: ${$("ring-kind").textContent}`;
    announce(words);
    this.#actions.sound();
    this.#notify(words, call);
  }

  /** @returns {boolean} */
  get isRinging() {
    return this.#calls.length > 0;
  }

  #tick() {
    const [call] = this.#calls;
    if (!call) return;
    $("ring-held").hidden = !tones.isHeld();
    const left = call.remainingMs / Number(this.#dialog.dataset.total);
    $("ring-left").style.setProperty("--left", Math.min(1, left).toFixed(3));
    const flash = document.hidden && Math.floor(Date.now() / 1000) % 2 === 0;
    this.title ??= document.title;
    document.title = flash ? "☎ Incoming call" : `${nameOf(call, call.from)} is calling · Roost`;
  }

  #notify(words, call) {
    this.#notice?.close();
    this.#notice = null;
    if (!document.hidden || globalThis.Notification?.permission !== "granted") return;
    try {
      this.#notice = new Notification(words, { body: "Roost", tag: call.callId, icon: "/icon.svg", requireInteraction: true });
      this.#notice.onclick = () => {
        focus();
        this.#notice?.close();
      };
    } catch { /* phones want a service worker for this */ }
  }

  #hide() {
    if (!this.#dialog.dataset.call) return;
    clearInterval(this.#timer);
    this.#actions.sound();
    this.#notice?.close();
    this.#notice = null;
    delete this.#dialog.dataset.call;
    this.#dialog.close();
    if (this.title) document.title = this.title;
    this.title = null;
  }
}

/** Who is being called, and how each answered: over the stage until somebody talks. */
export function showOutgoing(call) {
  const shown = isUnanswered(call);
  $("outgoing").hidden = !shown;
  if (!shown) return;
  const names = call.others.map(({ user }) => nameOf(call, user));
  $("outgoing-title").textContent = call.ringing.length ? `Calling ${list(names)}…` : "Nobody answered";
  fill($("outgoing-people"), call.others.map((member) => memberItem(call, member)));
}

/** People of the call who are not in it: ringing now, or gone within the last seconds. */
export function showInvited(call, changedAt, actions) {
  const recent = (user) => performance.now() - (changedAt.get(user) ?? -1e9) < 20_000;
  const members = call && $("outgoing").hidden ? call.others.filter((member) => !call.joined.includes(member) &&
    (call.ringing.includes(member) || recent(member.user))) : [];
  $("invited").hidden = members.length === 0;
  fill($("invited"), members.map((member) => memberChoice(call, member, actions)));
}

/** One member, and how it stands with him. */
function memberItem(call, member) {
  const name = nameOf(call, member.user);
  const item = make("li", {}, avatar(name), about(name, stateOf(member)));
  Object.assign(item.dataset, { user: member.user, state: member.state });
  return item;
}

/** The same, and what can be done about it. */
export function memberChoice(call, member, { cancel, again }) {
  const item = memberItem(call, member);
  const name = nameOf(call, member.user);
  const button = (label, run) => make("button", { type: "button", className: "quiet small", ariaLabel: `${label}: ${name}`, onclick: () => run(member.user) }, label);
  if (call.ringing.includes(member)) item.append(button("Cancel", cancel));
  else if (!call.joined.includes(member)) item.append(button("Ring again", again));
  return item;
}

/** “2:05”, or nothing before people talk. */
export function showTimer(call) {
  $("timer").hidden = !call?.startedAt;
  if (call?.startedAt) $("timer").textContent = clock(call.durationMs);
}
