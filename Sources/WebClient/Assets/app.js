// app.js: the page at `/`, on top of roost.js. It takes its wishes from the address, after `?` or `#`:
//
//   room=demo  name=anna   what the form starts with
//   autojoin=1             join without asking
//   online=1               be reachable for calls without asking
//   call=ben               whom to call, for the form; with online=1 the call is made
//   audio=0  video=0       without microphone, without camera
//   height=720             lines of the picture (360); from 540 on it is sent in three sizes
//   simulcast=0 or 1       send one size, or three, whatever the height
//   music=1                sound as it is: no echo cancellation, noise suppression or gain control
//   bundlePolicy=…         of both peer connections: max-bundle, balanced, max-compat
//
// `window.roost` holds `{client, room, call}` for the console.
import { RoostClient, openMedia, openScreen, rtcUrl } from "./roost.js";
import { openChat, received, sendChat, showHistory, showPeople, toggleChat } from "./chat.js";
import { fillDevices, height, isPreviewing, keepOpen, mayPreviewUnasked, music, showPreview, startPreview, takeMedia } from "./media.js";
import { $, announce, bookmark, memory, noTroubles, onSubmit, sentence, toast, trouble, userOf, wishes } from "./page.js";
import { Phone } from "./phone.js";
import { RingDialog, memberItem, showInvited, showOutgoing, showQuality, showTimer } from "./ringing.js";
import * as tones from "./tones.js";
import { Grid, fill } from "./view.js";
import { list, nameOf, outcome, stateOf } from "./words.js";

const simulcast = wishes.has("simulcast") ? wishes.get("simulcast") === "1" : undefined;

let client = null;
let online = false; // reachable for calls, whether in a room or not
let room = null;
let call = null; // whose room it is
let switching = false; // from one room or call to the next, or into the first
let listening = new AbortController(); // to the call one is in
let going = false; // the page goes away, and its place in a call waits
let screenTrack = null;
let returning = bookmark.take(); // the call that this tab was in before it was loaded again, until all is as it was
/** How many sessions of a call are remembered: so often it may be loaded again before it is in. */
const LEG_TOKENS = 8;
const changedAt = new Map(); // user → when he was last heard of in this call

const publicState = () => (window.roost = { client, room, call });

/** What one sends of a kind, the screen aside. */
const own = (kind) => [...room.localTracks].find((track) => track.kind === kind && track.label !== "screen");
const wide = () => matchMedia("(min-width: 761px)").matches;

function play(element) {
  element.play().catch((error) => {
    if (error.name !== "NotAllowedError") return; // AbortError: taken away meanwhile
    const run = () => {
      trouble("sound", null);
      grid.resume();
    };
    trouble("sound", "The browser is holding back the sound.", { label: "Hear the others", run });
  });
}

const grid = new Grid($("grid"), play);

// ---- the client

function makeClient(identity) {
  const rtc = wishes.has("bundlePolicy") ? { bundlePolicy: wishes.get("bundlePolicy") } : undefined;
  const made = new RoostClient(rtcUrl(), { ...identity, rtc });
  made.addEventListener("state", ({ detail }) => made === client && onState(detail));
  made.addEventListener("rejoined", () => {
    if (call) rememberLeg(call.callId);
    toast("Connected again.");
  });
  client = made;
  publicState();
  return made;
}

function onState({ state, error }) {
  const waiting = state === "reconnecting";
  $("connection").className = waiting ? "dot waiting" : "dot";
  $("connection").setAttribute("aria-label", waiting ? "Reconnecting" : "Connected");
  trouble("session", waiting && (room || online) ? "Reconnecting…" : null);
  if (state === "closed" && online) {
    setOnline(false);
    if (error && !room) lobbyError(sentence(error));
  }
}

/** Be reachable by name, for as long as the page is open. */
async function goOnline() {
  const name = $("name").value.trim();
  if (!name) return lobbyError("Please enter your name.");
  lobbyError("");
  if (globalThis.Notification?.permission === "default") Promise.resolve(Notification.requestPermission()).catch(() => {});
  tones.unlock();
  const hello = await connect(name);
  memory.set("name", name);
  if (returning) rememberLeg(returning.callId);
  setOnline(true);
  countMissed(hello.missed ?? 0);
  await phone.use(client, hello.missed);
  await comeBack(hello.current?.callId);
  if (hello.current && !room) await phone.look(); // a call that one may come back to
  await warnOfNamesakes(client);
}

/** Says hello as the device that this tab was before it was loaded again, if it was. */
async function connect(name) {
  const { deviceId, resumeToken } = returning ?? {};
  try {
    return await callable({ user: userOf(name), displayName: name, deviceId, resumeToken }).connect();
  } catch (error) {
    // Loaded again before the last hello was answered: the session that it began is in our way, and nobody knows its token.
    if (!returning || error.data?.reason !== "device_in_use") throw error;
    return callable({ user: userOf(name), displayName: name }).connect();
  }
}

function callable(identity) {
  const made = makeClient(identity);
  made.addEventListener("incomingCall", ({ detail }) => onIncoming(detail.call));
  made.addEventListener("callChanged", ({ detail }) => onCallChanged(detail.call));
  made.addEventListener("callMissed", () => countMissed(1));
  return made;
}

/** The tab was loaded again in the middle of a call: it goes on, with what was sent before. */
async function comeBack(callId) {
  if (returning && returning.callId === callId) {
    const running = client.call(callId);
    await moveTo(running, () => enterAgain(running), returning.video, returning.muted);
  }
  returning = null;
}

/** Without passwords a name is all there is: whoever goes by the same one gets the same calls. */
async function warnOfNamesakes(made) {
  const [own] = await made.presence([made.user]).catch(() => []);
  if (own?.devices > 1 && !room) phone.status(`You are online as ${made.user} elsewhere, too: calls ring at both. If that is not you, choose another name.`);
}

/**
 * The page goes away. In a call, or on its way back into one, it may be loaded again at once, so that nothing is hung up; who
 * does not come back is lost.
 */
function goAway() {
  const kept = returning ?? (call && online ? whatIsSent() : null);
  if (!kept) return client?.close();
  going = true;
  const { deviceId, resumeToken } = client?.abandon() ?? {};
  bookmark.set({ ...kept, ...(resumeToken && { deviceId, resumeToken }) });
}

function whatIsSent() {
  const [video, audio] = [own("video"), own("audio")];
  return { name: $("name").value, callId: call.callId, video: Boolean(video && !video.muted), muted: Boolean(audio?.muted) };
}

function goOffline() {
  returning = null;
  client?.close();
  setOnline(false);
}

function setOnline(yes) {
  online = yes;
  if (!yes) {
    rings.clear();
    phone.use(null);
    if (!room) client = null;
  }
  $("name").readOnly = yes;
  showTab();
}

// ---- the lobby

let tab = "room";
let missed = 0;

function showTab(chosen = tab) {
  tab = chosen;
  const calls = tab === "calls";
  for (const [id, selected] of [["tab-room", !calls], ["tab-calls", calls]]) {
    $(id).setAttribute("aria-selected", String(selected));
    $(id).tabIndex = selected ? 0 : -1;
  }
  $("join-form").hidden = calls && online;
  $("phone").hidden = !(calls && online);
  $("room-label").hidden = calls;
  $("room").required = !calls;
  $("reach-hint").hidden = !calls;
  $("join").textContent = calls ? "Go online" : "Join";
  $("tab-calls").setAttribute("aria-controls", online ? "phone" : "join-form");
  if (calls) countMissed(-missed);
  if (calls && online) phone.look();
}

/** On the tab, as long as nobody has looked. */
function countMissed(more) {
  missed = tab === "calls" && !$("lobby").hidden ? 0 : Math.max(0, missed + more);
  $("missed").textContent = String(missed);
  $("missed").hidden = missed === 0;
  $("missed").setAttribute("aria-label", `${missed} missed`);
}

function lobbyError(text) {
  $("join-error").textContent = text;
  $("join-error").hidden = !text;
}

async function submitForm() {
  const [run, working] = tab === "calls" ? [goOnline, "Connecting…"] : [join, "Joining…"];
  $("join").disabled = true;
  $("join").textContent = working;
  try {
    await run();
  } catch (error) {
    if (!online) client?.close();
    lobbyError(sentence(error));
  } finally {
    $("join").disabled = false;
    showTab();
  }
}

async function join() {
  const name = $("name").value.trim();
  const roomName = $("room").value.trim();
  if (!name || !roomName) return lobbyError("Please enter your name and a room.");
  lobbyError("");
  if (!online) await makeClient({ displayName: name, callable: false }).connect();
  const entered = await client.join(roomName);
  memory.set("name", name);
  for (const id of ["microphone", "camera"]) memory.set(id, $(id).value);
  openRoom(entered, null);
  await publish(entered, true);
}

// ---- calls

const phone = new Phone({ dial, rejoin, takeOver });
const rings = new RingDialog({
  answer,
  decline,
  ignore: (ringing) => ringing.ignore().catch((error) => toast(sentence(error))),
  inCall: () => Boolean(room),
  sound,
});

/** A group that one has declined goes on, and may be joined. */
async function decline(ringing, text) {
  await ringing.reject(text ? { text } : {}).catch((error) => toast(sentence(error)));
  phone.look();
}

/** What is to be heard now: a ring, softly while one talks; the other's phone; nothing. */
function sound() {
  const waits = call?.isOutgoing && !call.isOver && call.joined.length < 2 && call.ringing.length > 0;
  if (rings.isRinging) tones.start(room ? "waiting" : "ring");
  else if (waits) tones.start("ringback");
  else tones.stop();
}

function onIncoming(incoming) {
  incoming.addEventListener("stopped", ({ detail: { reason } }) => {
    if (reason === "answered_elsewhere" || reason === "rejected_elsewhere") toast(outcome({ ...incoming, ...view(incoming), reason }));
    else if (reason === "cancelled") announce("The caller gave up.");
  }, { once: true });
  rings.update(incoming);
}

/** What `outcome` wants of a call that has not ended for everybody. */
const view = ({ self, others, isOutgoing }) => ({ self, others, isOutgoing });

function onCallChanged(changed) {
  rings.update(changed);
  if (changed !== call) return;
  sound();
  render();
}

async function dial(users, media) {
  if (switching) return; // touched twice
  phone.status("");
  phone.remember(users);
  switching = true;
  let started;
  try {
    started = await client.startCall(users, { media });
  } catch (error) {
    return phone.status(sentence(error), true);
  } finally {
    switching = false;
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
async function enterAgain(running) {
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

function rememberLeg(callId) {
  const tokens = [client.session.hello.resumeToken, ...legTokens(callId)];
  memory.set(`leg.${callId}`, JSON.stringify([...new Set(tokens)].slice(0, LEG_TOKENS)));
}

/** @param {boolean} muted the microphone, from the start */
async function moveTo(next, take, withVideo, muted = false) {
  if (switching) return; // touched twice
  const before = room;
  switching = true;
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
    switching = false;
  }
  if (before) moveOut(before);
  enterCall(next, entered);
  sound();
  tones.once("joined");
  await publish(entered, withVideo, muted);
}

/** Keeps the camera and microphone of a room that was left for another one. */
function moveOut(before) {
  const tracks = [...before.localTracks].filter(({ label }) => label !== "screen");
  for (const track of before.localTracks) if (track.label === "screen") track.mediaStreamTrack.stop();
  screenTrack = null;
  grid.clear();
  const of = (kind) => tracks.find((track) => track.kind === kind)?.mediaStreamTrack;
  keepOpen({ audio: of("audio"), video: of("video") });
}

function enterCall(next, entered) {
  changedAt.clear();
  if (returning?.callId !== next.callId) returning = null;
  openRoom(entered, next);
  rememberLeg(next.callId);
  // A group may be left and joined again: it is the same call then, and shall not be heard twice.
  listening.abort();
  listening = new AbortController();
  const { signal } = listening;
  const on = (type, listener) => next.addEventListener(type, ({ detail }) => next === call && listener(detail), { signal });
  on("member", onMember);
  on("accepted", ({ user }) => user !== client.user && answered(user));
  on("invited", () => render());
  on("mediaChangeRequested", ({ by, media }) => by !== client.user && ask(by, media));
  on("mediaChanged", onMediaChanged);
  on("alone", ({ remainingMs }) => toast(`You are alone. The call ends in ${Math.round(remainingMs / 60_000) || 1} min unless somebody comes.`));
  on("ended", afterCall);
}

function answered(user) {
  tones.once("joined");
  announce(`${nameOf(call, user)} answered.`);
  render();
}

function onMember({ what, member }) {
  changedAt.set(member.user, performance.now());
  const name = nameOf(call, member.user);
  if (["declined", "noAnswer", "busy"].includes(what)) {
    toast(`${name}: ${stateOf(member)}`);
  }
  if (what === "busy") tones.once("busy");
  setTimeout(render, 20_500); // then it is no news any more
  render();
}

/** The other side asks to change between audio and video. */
function ask(by, media) {
  $("ask-text").textContent = media === "video" ? `${nameOf(call, by)} asks to switch on video.` : `${nameOf(call, by)} asks to go on without video.`;
  $("ask").hidden = false;
  const answerWith = (action) => () => {
    $("ask").hidden = true;
    call?.mediaChange(action).catch((error) => toast(sentence(error)));
  };
  $("ask-yes").onclick = answerWith("accept");
  $("ask-no").onclick = answerWith("reject");
  // Not on an answer, where the next letter of a message would switch the camera on.
  if (!document.activeElement?.closest("input, select, textarea")) $("ask-text").focus();
}

async function onMediaChanged({ by, media, result }) {
  $("ask").hidden = true;
  render();
  const isOwn = by === client.user;
  if (result !== "accepted") return sayUnchanged(isOwn, nameOf(call, by), result);
  if (media === "audio") return endPictures();
  // Two have agreed; in a group one decides, and the others' cameras are their own affair.
  if (!isOwn && call.kind === "group") return toast(`${nameOf(call, by)} switched on video.`);
  if (!own("video") && !opening.video) await startDevice("video");
}

/** There is sound alone from now on: the camera's light goes out. */
async function endPictures() {
  const pictures = [...room.localTracks].filter(({ kind }) => kind === "video");
  await Promise.all(pictures.map(stopSending));
}

/** A change between audio and video that did not come about. What one has done oneself, one knows. */
function sayUnchanged(isOwn, name, result) {
  if (result === "rejected" && isOwn) toast("The other side would rather not.");
  if (result === "cancelled" && !isOwn) toast(`${name} does not ask any more.`);
  if (result === "timeout") toast(isOwn ? "Nobody answered your request." : `The request of ${name} has lapsed.`);
}

/** The call is over: back to the lobby, with a word about why. */
function afterCall() {
  const over = call;
  if (!over) return;
  const words = outcome(over);
  call = null;
  leave(null);
  sound();
  tones.once(over.reason === "busy" ? "busy" : "ended");
  showTab("calls");
  phone.status(words);
  announce(words);
  phone.look();
}

/** Cancels what still rings, else hangs up. */
async function hangUp() {
  const over = call;
  const waiting = over.isOutgoing && !over.startedAt && over.joined.length < 2;
  call = null;
  leave(null);
  sound();
  if (!waiting) tones.once("ended");
  showTab("calls");
  await (waiting ? over.cancel() : over.hangup()).catch((error) => error.code !== 3002 && toast(sentence(error)));
  phone.status(over.isOver ? outcome(over) : "You left the call. It goes on without you.");
  phone.look();
}

// ---- inviting

function showInviteDialog() {
  inviteError("");
  $("invite-dialog").showModal();
  $("invite-to").focus();
  phone.look().then(render);
  render();
}

function renderInvite() {
  if (!$("invite-dialog").open || !call) return;
  fill($("invite-members"), call.others.map((member) => memberItem(call, member, { cancel: cancelInvite, again: (user) => invite([user]) })));
  const inIt = new Set(call.members.keys());
  fill($("invite-people"), phone.people.filter((user) => !inIt.has(user)).slice(0, 8).map((user) => phone.chip(user, () => invite([user]))));
}

function inviteError(text) {
  $("invite-error").textContent = text;
  $("invite-error").hidden = !text;
}

async function invite(users) {
  inviteError("");
  phone.remember(users);
  try {
    const { busy, failed, invited } = await call.invite(users);
    for (const user of users) changedAt.set(user, performance.now());
    if (failed.length) inviteError(failed.map(({ user, error }) => (error.code === 3008 ? `Nobody here is called ${user}.` : `${user} could not be called: ${error.message}`)).join(" "));
    else if (busy.length) toast(`${list(busy)} ${busy.length > 1 ? "are" : "is"} in another call, and hears that you call.`);
    else if (invited.length) announce(`Calling ${list(invited)}.`);
    if (!failed.length) $("invite-to").value = "";
  } catch (error) {
    inviteError(sentence(error));
  }
  render();
}

async function cancelInvite(user) {
  await call.cancelInvite([user]).catch((error) => toast(sentence(error)));
  render();
}

// ---- the room

/** The seat is taken before the devices are asked for: whoever is refused is not asked in vain. */
async function publish(into, withVideo, muted = false) {
  await whileOpening(["audio", "video"], async () => {
    const media = await takeMedia(withVideo && into.media !== "audio");
    if (into !== room) return [media.audio, media.video].forEach((track) => track?.stop());
    if (media.error) toast(sentence(media.error));
    await Promise.all([publishOne(into, "microphone", media.audio, muted), publishOne(into, "camera", media.video)]);
  });
  await fillDevices();
}

/** How often each is being opened now: nobody shall open it a second time meanwhile. */
const opening = { audio: 0, video: 0 };

async function whileOpening(kinds, run) {
  for (const kind of kinds) opening[kind] += 1;
  render();
  try {
    await run();
  } finally {
    for (const kind of kinds) opening[kind] -= 1;
    render();
  }
}

/** @returns {Promise<?LocalTrack>} what is sent then; a device that cannot be is not left on */
async function publishOne(into, label, track, muted = false) {
  if (!track) return null;
  try {
    return await into.publish(track, { label, simulcast: label === "screen" ? false : simulcast, muted });
  } catch (error) {
    track.stop();
    if (into === room) toast(sentence(error));
    return null;
  }
}

/** @param {Room} entered @param {?Call} itsCall */
function openRoom(entered, itsCall) {
  lobbyError("");
  [room, call] = [entered, itsCall];
  publicState();
  openChat(entered, wide() && !itsCall);
  const on = (type, listener) => entered.addEventListener(type, ({ detail }) => entered === room && listener(detail));
  for (const type of ["participantUpdated", "trackPublished", "trackUpdated", "trackUnpublished", "trackStarted", "trackStopped", "localTrackUpdated"]) on(type, render);
  on("refreshed", () => {
    render();
    showHistory();
  });
  on("participantJoined", ({ participant }) => told(`${participant.displayName} joined.`));
  on("participantLeft", ({ participant }) => told(`${participant.displayName} left.`));
  on("activeSpeakers", ({ speakers }) => grid.speaking(new Set(speakers.map(({ participant }) => participant.participantId))));
  on("chat", ({ message }) => received(message));
  on("media", onMedia);
  on("localTrackEnded", ({ track }) => deviceGone(track));
  on("warning", ({ error }) => toast(sentence(error)));
  on("closed", ({ error }) => !switching && closed(error));
  $("lobby").hidden = true;
  $("call").hidden = false;
  $("call").dataset.of = call ? "call" : "room";
  $("invite").hidden = $("room-count").hidden = Boolean(call);
  $("leave").querySelector("span").textContent = call ? "Hang up" : "Leave";
  $("leave").querySelector("use").setAttribute("href", call ? "#i-hangup" : "#i-leave");
  $("leave").className = call ? "stop" : "danger";
  $("add").hidden = !call;
  $("quality").hidden = true;
  $("ask").hidden = true;
  document.title = `${call ? list(call.others.map(({ user }) => nameOf(call, user))) : room.name} · Roost`;
  if (!call) history.replaceState(null, "", withRoom(location.href, room.name));
  render();
  showHistory();
  (call?.isOutgoing && !call.startedAt ? $("outgoing-title") : $("room-title")).focus();
}

/** The server took the seat away, or the session is lost for good. A call that is over says so itself. */
async function closed(error) {
  const over = call;
  if (over && client.state === "open") await over.refresh().catch(() => {});
  if (over?.isOver) return afterCall();
  call = null;
  leave(error);
  if (!over) return;
  showTab("calls");
  phone.status(error ? sentence(error) : "You are not in the call any more.", Boolean(error));
  phone.look();
}

/** Back to the form; `error` says why when it was not our own wish. */
function leave(error) {
  if (!room) return;
  const was = room;
  room = null;
  if (was.callId && !going) memory.set(`leg.${was.callId}`, null);
  for (const track of [...was.localTracks]) track.mediaStreamTrack.stop();
  screenTrack = null;
  if (!was.callId) was.leave();
  if (!online) {
    client.close();
    client = null;
  }
  publicState();
  grid.clear();
  noTroubles();
  for (const open of document.querySelectorAll("dialog[open]:not(#ring)")) open.close();
  $("call").hidden = true;
  $("lobby").hidden = false;
  document.title = "Roost";
  showPreview();
  lobbyError(error ? sentence(error) : "");
  showTab();
  (was.callId && online ? $("dial-to") : $("join")).focus();
}

function told(text) {
  announce(text);
  render();
}

let rendering = false;
/** Many events make one rendering. */
function render() {
  if (rendering) return;
  rendering = true;
  queueMicrotask(() => {
    rendering = false;
    if (room) renderNow();
  });
}

function renderNow() {
  const people = [...room.participants.values()];
  $("room-title").textContent = call ? list(whoIsThere(people)) : room.name;
  $("room-count").textContent = room.limit ? `${people.length} of ${room.limit}` : String(people.length);
  $("room-count").setAttribute("aria-label", `${people.length} people in the room${room.limit ? `, of ${room.limit} seats` : ""}`);
  showAlone(people.length > 1);
  grid.render(room);
  showTool("mic", own("audio"), ["Mute", "Unmute", "Start mic"], ["i-mic", "i-mic-off"]);
  showTool("cam", own("video"), ["Stop video", "Start video", "Start video"], ["i-cam", "i-cam-off"]);
  if (!own("video")) showCamera();
  $("screen").setAttribute("aria-pressed", String(Boolean(screenTrack)));
  $("screen").querySelector("span").textContent = screenTrack ? "Stop sharing" : "Share screen";
  $("screen").hidden = !navigator.mediaDevices?.getDisplayMedia || room.media === "audio";
  showPeople(people);
  showOutgoing(call);
  $("leave").hidden = !$("outgoing").hidden; // there it says “Cancel”
  showInvited(call, { changedAt, cancel: cancelInvite, again: (user) => invite([user]) });
  showTimer(call);
  renderInvite();
}

function showAlone(isAnybodyThere) {
  $("alone").hidden = isAnybodyThere || (call && (!call.startedAt || call.ringing.length > 0));
  $("alone").textContent = call ? "Nobody else is in the call any more. Invite somebody, or hang up."
    : "Nobody else is here yet. Copy the invite link and send it to somebody.";
}

/** Who talks with us, or whom we call; of those who have left, the call is still the call with them. */
function whoIsThere(people) {
  const here = people.filter(({ isSelf }) => !isSelf).map(({ displayName, user }) => displayName || user);
  return here.length ? here : call.others.map(({ user }) => nameOf(call, user));
}

/** A device that is not open can be opened later: it was missing, not allowed, or not wanted. */
function showTool(id, track, [mute, unmute, start], [on, off]) {
  const muted = Boolean(track?.muted);
  const button = $(id);
  const words = !track ? start : muted ? unmute : mute;
  button.disabled = !track && opening[id === "mic" ? "audio" : "video"] > 0;
  button.setAttribute("aria-pressed", String(muted));
  button.querySelector("span").textContent = words;
  button.querySelector("use").setAttribute("href", `#${muted || !track ? off : on}`);
  button.title = `${words} (${button.getAttribute("aria-keyshortcuts")})`;
}

/** Where there is sound alone, the other side of a call is asked for video first; a room stays as it is. */
function showCamera() {
  if (room.media !== "audio") return;
  const asked = hasAsked();
  $("cam").disabled = !call || (!asked && call.joined.length < 2);
  $("cam").querySelector("span").textContent = asked ? "Stop asking" : call && call.kind !== "group" ? "Ask for video" : "Start video";
}

/** Whether the others are being asked for video. */
const hasAsked = () => call?.mediaRequest?.by === client.user;

async function toggle(kind) {
  const track = own(kind);
  if (!track) return $(kind === "audio" ? "mic" : "cam").disabled ? undefined : startDevice(kind);
  const thing = kind === "audio" ? "Microphone" : "Camera";
  announce(track.muted ? `${thing} on.` : `${thing} off.`);
  await (track.muted ? track.unmute() : track.mute()).catch((error) => toast(sentence(error)));
}

async function startDevice(kind) {
  if (kind === "video" && room.media === "audio") return askForVideo();
  const [id, into] = [kind === "audio" ? "microphone" : "camera", room];
  await whileOpening([kind], async () => {
    try {
      const media = await openMedia({ [kind]: $(`${id}-now`).value || true, height, music });
      if (into === room) await publishOne(into, id, media[kind]);
      else media[kind].stop();
    } catch (error) {
      toast(sentence(error));
    }
  });
}

/** Asks for video where there is sound alone, or does not ask any more. */
async function askForVideo() {
  const request = hasAsked() ? call.mediaChange("cancel") : call.mediaChange("request", "video");
  // 3003: answered in the very moment in which it was taken back.
  await request.catch((error) => error.code !== 3003 && toast(sentence(error)));
  if (hasAsked()) toast("You have asked for video. It starts when the other side agrees.");
  render();
}

async function toggleScreen() {
  if (screenTrack) return stopSending(screenTrack);
  const into = room;
  try {
    const track = await openScreen();
    if (into !== room) return track.stop(); // the call ended while he chose
    const shared = await publishOne(into, "screen", track);
    if (into === room) screenTrack = shared;
  } catch (error) {
    if (error.code !== -4) toast(sentence(error)); // −4: changed his mind
  }
  render();
}

async function stopSending(track) {
  if (track === screenTrack) screenTrack = null;
  track.mediaStreamTrack.stop();
  // 4001: the server has ended it already.
  await room?.unpublish(track).catch((error) => error.code !== 4001 && toast(sentence(error)));
  render();
}

// ---- troubles

function onMedia() {
  const states = Object.values(room?.mediaStates ?? {});
  if (states.includes("failed")) trouble("media", "Audio and video cannot reach the server. Trying again…");
  else if (states.includes("disconnected")) trouble("media", "Audio and video are interrupted. Reconnecting…");
  else trouble("media", null);
}

/** Unplugged or taken away: the other device if there is one, otherwise we say so. */
async function deviceGone(track) {
  if (track === screenTrack) return stopSending(track);
  const { kind } = track;
  const where = room;
  try {
    const media = await openMedia({ [kind]: true, height, music });
    if (where !== room) return media[kind].stop();
    await track.replace(media[kind]);
    toast(`${kind === "audio" ? "The microphone" : "The camera"} is gone, so another one is used now.`);
  } catch {
    await track.mute().catch(() => {});
    toast(`${kind === "audio" ? "The microphone" : "The camera"} is gone. Plug it in and choose it under Devices.`);
  }
  render();
}

async function changeDevice(kind, id) {
  memory.set(id, $(`${id}-now`).value);
  const where = room;
  try {
    const media = await openMedia({ [kind]: $(`${id}-now`).value || true, height, music });
    if (where !== room) return media[kind].stop();
    const track = own(kind);
    if (!track) return await publishOne(room, id, media[kind]);
    const before = track.mediaStreamTrack;
    await track.replace(media[kind]);
    before.stop();
  } catch (error) {
    toast(sentence(error));
  } finally {
    render();
  }
}

/** Every second the time, every other second how the connection is. */
let ticks = 0;
setInterval(async () => {
  if (!room) return;
  showTimer(call);
  if (ticks++ % 2 || document.hidden) return;
  const seen = room;
  const quality = await seen.quality().catch(() => null);
  if (quality && seen === room) showQuality(quality);
}, 1000);

// ---- wiring

function withRoom(address, name) {
  const url = new URL(address);
  url.searchParams.set("room", name);
  return url.href;
}

async function copyInvite() {
  const link = withRoom(`${location.origin}/`, room.name);
  try {
    await navigator.clipboard.writeText(link);
    toast("Invite link copied. Send it to somebody.");
  } catch {
    prompt("Copy this link:", link); // pages without https have no clipboard
  }
}

function onKey(event) {
  if (!room || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape" && $("chat").contains(document.activeElement)) return toggleChat(false);
  if (event.target.closest("input, select, textarea")) return;
  const run = { m: () => toggle("audio"), v: () => toggle("video"), c: () => toggleChat(), i: () => call && showInviteDialog() }[event.key.toLowerCase()];
  if (!run || event.repeat) return;
  event.preventDefault();
  run();
}

/** Arrows move between the tabs, as they do in lists of tabs. */
function onTabKey(event) {
  if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
  showTab(tab === "room" ? "calls" : "room");
  $(`tab-${tab}`).focus();
}

const isLate = () => Boolean(room);
onSubmit("join-form", submitForm);
onSubmit("chat-form", sendChat);
onSubmit("invite-form", () => invite($("invite-to").value.split(",").map(userOf).filter(Boolean)));
for (const id of ["tab-room", "tab-calls"]) {
  $(id).onclick = () => showTab(id.slice(4));
  $(id).onkeydown = onTabKey;
}
$("preview-start").onclick = () => startPreview(isLate);
for (const id of ["microphone", "camera", "audio-only"]) {
  $(id).onchange = () => {
    $("camera").disabled = $("audio-only").checked;
    if (isPreviewing()) startPreview(isLate);
  };
}
$("microphone-now").onchange = () => changeDevice("audio", "microphone");
$("camera-now").onchange = () => changeDevice("video", "camera");
$("mic").onclick = () => toggle("audio");
$("cam").onclick = () => toggle("video");
$("screen").onclick = toggleScreen;
$("chat-toggle").onclick = () => toggleChat();
$("chat-close").onclick = () => toggleChat(false);
$("settings").onclick = () => $("devices").showModal();
$("invite").onclick = copyInvite;
$("add").onclick = showInviteDialog;
$("invite-close").onclick = () => $("invite-dialog").close();
$("outgoing-cancel").onclick = hangUp;
$("leave").onclick = () => (call ? hangUp() : leave(null));
$("offline").onclick = goOffline;
addEventListener("keydown", onKey);
addEventListener("pointerdown", tones.unlock);
addEventListener("keydown", tones.unlock);
addEventListener("pagehide", goAway);
addEventListener("pageshow", ({ persisted }) => persisted && location.reload()); // what was shown is over since it went away
addEventListener("visibilitychange", () => online && phone.look());
navigator.mediaDevices?.addEventListener?.("devicechange", fillDevices);

$("name").value = wishes.get("name") ?? memory.get("name") ?? "";
$("room").value = wishes.get("room") ?? "demo";
$("dial-to").value = wishes.get("call") ?? "";
$("audio-only").checked = wishes.get("video") === "0";
$("camera").disabled = $("audio-only").checked;
if (returning) $("name").value = returning.name;
showTab(returning || wishes.has("call") || wishes.get("online") === "1" ? "calls" : "room");
await fillDevices();
const unasked = returning || wishes.get("autojoin") === "1" || wishes.get("online") === "1";
if (unasked && $("name").value) await submitForm();
else if (await mayPreviewUnasked()) await startPreview(isLate);
if (online && !room && wishes.get("call")) $("dial-form").requestSubmit();
