// calling.js: calls: whom one calls, what rings, answering, coming back, taking over, and what is said of it all.
import { grid } from "./grid.js";
import { here, own, render } from "./here.js";
import { $, announce, memory, sentence, toast } from "./page.js";
import { phone } from "./phone.js";
import { RingDialog } from "./ringing.js";
import { endPictures, isOpening, moveOut, publish, startDevice } from "./sending.js";
import { enterRoom, leave } from "./stage.js";
import { showTab } from "./tabs.js";
import * as tones from "./tones.js";
import { isUnanswered, nameOf, outcome, stateOf } from "./words.js";

/** How many sessions of a call are remembered: so often it may be loaded again before it is in. */
const LEG_TOKENS = 8;

let listening = new AbortController(); // to the call one is in
phone.actions = { dial, rejoin, takeOver };
export const rings = new RingDialog({
  answer,
  decline,
  ignore: (ringing) => ringing.ignore().catch((error) => toast(sentence(error))),
  isInRoom: () => Boolean(here.room),
  sound,
});

/** A group that one has declined goes on, and may be joined. */
async function decline(ringing, text) {
  await ringing.reject(text ? { text } : {}).catch((error) => toast(sentence(error)));
  phone.look();
}

/** A room was left, of a call or not. */
export function left() {
  rings.refresh();
  sound();
}

/** The server took the seat away, or the session is lost for good. A call that is over says so itself. */
async function closed(error) {
  const over = here.call;
  if (over && here.client.state === "open") await over.refresh().catch(() => {});
  if (over?.isOver) return afterCall();
  here.call = null;
  leave(error);
  if (!over) return;
  showTab("calls");
  phone.status(error ? sentence(error) : "You are not in the call any more.", Boolean(error));
  phone.look();
}

/** What is to be heard now: a ring, softly while one talks; the other's phone; nothing. */
function sound() {
  const waits = isUnanswered(here.call) && here.call.ringing.length > 0;
  if (rings.isRinging) tones.start(here.room ? "waiting" : "ring");
  else if (waits) tones.start("ringback");
  else tones.stop();
}

export function onIncoming(incoming) {
  incoming.addEventListener("stopped", ({ detail: { reason } }) => {
    if (reason === "answered_elsewhere" || reason === "rejected_elsewhere") toast(outcome({ ...incoming, ...view(incoming), reason }));
    else if (reason === "cancelled") announce("The caller gave up.");
  }, { once: true });
  rings.update(incoming);
}

/** What `outcome` wants of a call that has not ended for everybody. */
const view = ({ self, others, isOutgoing }) => ({ self, others, isOutgoing });

export function onCallChanged(changed) {
  rings.update(changed);
  if (changed !== here.call) return;
  sound();
  render();
}

async function dial(users, media) {
  if (here.switching) return; // touched twice
  phone.status("");
  phone.remember(users);
  here.switching = true;
  let started;
  try {
    started = await here.client.startCall(users, { media });
  } catch (error) {
    return phone.status(sentence(error), true);
  } finally {
    here.switching = false;
  }
  enterCall(started.call, started.room);
  sound();
  if (started.call.isOver) return afterCall();
  await publish(started.room, media === "video");
}

/** Answers what rings; devices that are open for another room go on being used. */
async function answer(ringing, media) {
  await moveTo(ringing, () => ringing.accept({ media: ringing.media === "audio" ? "audio" : media }), media === "video");
}

async function rejoin(running) {
  await moveTo(running, () => enterAgain(running), running.media === "video");
}

/** Comes back. A tab that died without a word may still have our place: of this browser's it can be had at once. */
export async function enterAgain(running) {
  try {
    return await running.join();
  } catch (error) {
    if (error.code !== 2004 || legTokens(running.callId).length === 0) throw error;
    return takePlace(running);
  }
}

/** Another device of ours is in it; one that shares this browser's memory lets us have its place. */
async function takeOver(running) {
  await moveTo(running, () => takePlace(running), running.media === "video");
}

/** Shows what this browser knows of its tabs that were in the call, the latest first: one of them has our place. */
async function takePlace(running) {
  let refusal = null;
  for (const resumeToken of [...legTokens(running.callId), undefined]) {
    try {
      return await running.takeOver({ resumeToken });
    } catch (error) {
      if (error.code !== 1005) throw error;
      refusal = error;
    }
  }
  throw refusal;
}

/** The tokens of the sessions that this browser had in a call or on the way back into it, the latest first. */
const legTokens = (callId) => JSON.parse(memory.get(`leg.${callId}`) ?? "[]");

export function rememberLeg(callId) {
  const tokens = [here.client.session.hello.resumeToken, ...legTokens(callId)];
  memory.set(`leg.${callId}`, JSON.stringify([...new Set(tokens)].slice(0, LEG_TOKENS)));
}

/** @param {boolean} muted the microphone, from the start */
export async function moveTo(next, take, withVideo, muted = false) {
  if (here.switching) return; // touched twice
  const before = here.room;
  here.switching = true;
  tones.stop();
  let entered;
  try {
    entered = await take();
  } catch (error) {
    if (before?.closed) return closed(error); // the session is lost, and the old place with it
    sound();
    toast(sentence(error));
    return phone.status(sentence(error), true);
  } finally {
    here.switching = false;
  }
  if (before) {
    grid.clear();
    moveOut(before);
  }
  enterCall(next, entered);
  sound();
  // A server had called them to each other, and nobody could be rung any more.
  if (next.isOver) return afterCall();
  tones.once("joined");
  await publish(entered, withVideo, muted);
}

function enterCall(next, entered) {
  here.changedAt.clear();
  if (here.returning?.callId !== next.callId) here.returning = null;
  enterRoom(entered, next, closed);
  rememberLeg(next.callId);
  // A group may be left and joined again: it is the same call then, and shall not be heard twice.
  listening.abort();
  listening = new AbortController();
  const { signal } = listening;
  const on = (type, listener) => next.addEventListener(type, ({ detail }) => next === here.call && listener(detail), { signal });
  on("member", onMember);
  on("accepted", ({ user }) => user !== here.client.user && answered(user));
  on("invited", () => render());
  on("mediaChangeRequested", ({ by }) => by === here.client.user && toast("You have asked. The other side can agree now."));
  on("mediaChanged", onMediaChanged);
  on("alone", ({ remainingMs }) => toast(`You are alone. The call ends in ${Math.round(remainingMs / 60_000) || 1} min unless somebody comes.`));
  on("ended", afterCall);
}

function answered(user) {
  tones.once("joined");
  announce(`${nameOf(here.call, user)} answered.`);
  render();
}

function onMember({ what, member }) {
  here.changedAt.set(member.user, performance.now());
  const name = nameOf(here.call, member.user);
  // While one waits it stands on the panel, where a toast would cover the button.
  if (["declined", "noAnswer", "busy"].includes(what) && $("outgoing").hidden) toast(`${name}: ${stateOf(member)}`);
  if (what === "busy") tones.once("busy");
  setTimeout(render, 20_500); // then it is no news any more
  render();
}

async function onMediaChanged({ by, media, result }) {
  const isOwn = by === here.client.user;
  if (result !== "accepted") return sayUnchanged(isOwn, nameOf(here.call, by), result);
  if (media === "audio") return endPictures();
  // Two have agreed; in a group one decides, and the others' cameras are their own affair.
  if (!isOwn && here.call.kind === "group") return toast(`${nameOf(here.call, by)} switched on video.`);
  if (!own("video") && !isOpening("video")) await startDevice("video");
}

/** A change between audio and video that did not come about. */
function sayUnchanged(isOwn, name, result) {
  if (result === "rejected" && isOwn) toast("The other side would rather not.");
  if (result === "cancelled" && !isOwn) toast(`${name} does not ask any more.`);
  if (result === "timeout") toast(isOwn ? "Nobody answered your request." : `The request of ${name} has lapsed.`);
}

/** The call is over: back to the lobby, with a word about why. */
export function afterCall() {
  const over = here.call;
  if (!over) return;
  const words = outcome(over);
  here.call = null;
  leave(null);
  tones.once(over.reason === "busy" ? "busy" : "ended");
  showTab("calls");
  phone.status(words);
  announce(words);
  phone.look();
}

/** Cancels what still rings, else hangs up. */
export async function hangUp() {
  const over = here.call;
  const waiting = over.isOutgoing && !over.startedAt && over.joined.length < 2;
  here.call = null;
  leave(null);
  if (!waiting) tones.once("ended");
  showTab("calls");
  await (waiting ? over.cancel() : over.hangup()).catch((error) => error.code !== 3002 && toast(sentence(error)));
  phone.status(over.isOver ? outcome(over) : "You left the call. It goes on without you.");
  phone.look();
}
