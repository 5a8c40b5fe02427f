// stage.js: the room or call that one is in, as it is shown: people, titles, troubles.
import { allowWriting, openChat, received, showHistory, showPeople } from "./chat.js";
import { showConnection } from "./connection.js";
import { grid } from "./grid.js";
import { onHand, showHand } from "./hands.js";
import { here, publicState, render } from "./here.js";
import { showPreview } from "./media.js";
import { $, announce, memory, noTroubles, sentence, toast, trouble } from "./page.js";
import { forgetSeat, noteSeat } from "./seat.js";
import { deviceGone, endAll, showTools } from "./sending.js";
import { Spotlight } from "./spotlight.js";
import { lobbyError, showTab } from "./tabs.js";
import { onSpeakers, tilesNow } from "./viewing.js";
import { list, nameOf } from "./words.js";

const wide = () => matchMedia("(min-width: 761px)").matches;

/** @param {Room} entered @param {?Call} itsCall @param {(error: ?RoostError) => void} closed the seat is lost */
export function enterRoom(entered, itsCall, closed) {
  lobbyError("");
  if (itsCall) forgetSeat(); // of the room that one comes from
  Object.assign(here, { room: entered, call: itsCall, spotlight: new Spotlight(), page: 0, quality: null, unreachable: false });
  $("receive").value = "all";
  publicState();
  openChat(entered, wide() && !itsCall);
  const on = (type, listener) => entered.addEventListener(type, ({ detail }) => entered === here.room && listener(detail));
  for (const type of ["participantUpdated", "trackPublished", "trackUpdated", "trackUnpublished", "trackStarted", "trackStopped", "localTrackUpdated"]) on(type, render);
  on("refreshed", () => {
    onMedia(); // of new connections, of which nothing may be heard yet
    render();
    showHistory();
  });
  on("switched", ({ from }) => {
    openChat(entered, !$("chat").hidden);
    showTitle();
    noteSeat();
    showHistory();
    notice(`You were moved from ${from} to ${entered.name}.`);
  });
  on("participantJoined", ({ participant }) => told(`${participant.displayName} joined.`));
  on("participantLeft", ({ participant }) => told(`${participant.displayName} left.`));
  on("quality", render);
  on("roleChanged", render);
  on("handChanged", onHand);
  on("moderated", onModerated);
  on("knock", ({ displayName, gone }) => (gone ? render() : notice(`${displayName} waits to be let in.`)));
  on("activeSpeakers", ({ speakers }) => onSpeakers(speakers.map(({ participant }) => participant.participantId)));
  on("chat", ({ message }) => received(message));
  on("media", onMedia);
  on("localTrackEnded", ({ track }) => deviceGone(track));
  on("localTrackRefused", ({ track }) => track.mediaStreamTrack.stop());
  on("warning", ({ error }) => {
    toast(sentence(error));
    if (error.code !== 4006 || error.data.step === "route") return;
    here.unreachable = true;
    onMedia();
  });
  on("closed", ({ error }) => !here.switching && closed(error));
  $("lobby").hidden = true;
  $("call").hidden = false;
  $("call").dataset.of = here.call ? "call" : "room";
  $("invite").hidden = $("room-count").hidden = Boolean(here.call);
  $("leave").querySelector("span").textContent = here.call ? "Hang up" : "Leave";
  $("leave").querySelector("use").setAttribute("href", here.call ? "#i-hangup" : "#i-leave");
  $("leave").className = here.call ? "stop" : "danger";
  $("add").hidden = !here.call;
  showTitle();
  render();
  showHistory();
  (here.call?.isOutgoing && !here.call.startedAt ? $("outgoing-title") : $("room-title")).focus();
}

function showTitle() {
  document.title = `${here.call ? list(here.call.others.map(({ user }) => nameOf(here.call, user))) : here.room.name} · Roost`;
  if (!here.call) history.replaceState(null, "", withRoom(location.href, here.room.name));
}

/** Back to the form; `error` says why when it was not our own wish. */
export function leave(error) {
  leaveRoom(error);
  here.calls?.left();
}

function leaveRoom(error) {
  if (!here.room) return;
  const was = here.room;
  here.room = null;
  if (!was.callId && !here.going) forgetSeat();
  if (was.callId && !here.going) memory.set(`leg.${was.callId}`, null);
  endAll(was);
  if (!was.callId) was.leave();
  if (!here.online) {
    here.client.close();
    here.client = null;
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
  (was.callId && here.online ? $("dial-to") : $("join")).focus();
}

function told(text) {
  announce(text);
  render();
}

function notice(text) {
  toast(text);
  render();
}

/** Few rooms are moderated: the words for it are loaded when somebody does. */
function onModerated(event) {
  render();
  import("./moderated.js").then(({ tell }) => tell(event), () => {}); // what was done is seen all the same
}

let loading = null;
/** What only moderators need. It draws by itself from then on. */
function loadModerating() {
  loading ??= import("./moderating.js").then(render, () => (loading = null)); // tried again with the next drawing
}

/** Shows everything of the room as it is. */
export function draw() {
  const people = [...here.room.participants.values()];
  $("room-title").textContent = here.call ? list(whoIsThere(people)) : here.room.name;
  $("room-count").textContent = here.room.limit ? `${people.length} of ${here.room.limit}` : String(people.length);
  $("room-count").setAttribute("aria-label", `${people.length} people in the room${here.room.limit ? `, of ${here.room.limit} seats` : ""}`);
  showAlone(people.length > 1);
  showTiles();
  showTools();
  showHand();
  showPeople(people);
  const isModerator = here.room.self?.role === "moderator";
  if (isModerator) loadModerating();
  allowWriting(isModerator || !here.room.moderation.chatDisabled);
}

let nextChange;

function showTiles() {
  const tiles = tilesNow();
  const now = performance.now();
  const large = here.spotlight.large(tiles, now);
  // Two in a call: the other large, oneself small in a corner.
  grid.show(tiles, { large, pinned: here.spotlight.pinned, page: here.page, isPair: Boolean(here.call) });
  here.page = grid.page; // people have left, perhaps, and with them the last page
  clearTimeout(nextChange);
  if (here.spotlight.nextChange < Infinity) nextChange = setTimeout(render, here.spotlight.nextChange - now);
  $("view").hidden = tiles.filter(({ kind }) => kind !== "sharing").length < 2;
  $("view").querySelector("span").textContent = large ? "Grid view" : "Speaker view";
  $("view").querySelector("use").setAttribute("href", large ? "#i-grid" : "#i-speaker");
  showConnection(here.quality, here.room.own, tiles.some(({ away }) => away));
}

function showAlone(isAnybodyThere) {
  $("alone").hidden = isAnybodyThere || (here.call && (!here.call.startedAt || here.call.ringing.length > 0));
  $("alone").textContent = here.call ? "Nobody else is in the call any more. Invite somebody, or hang up."
    : "Nobody else is here yet. Copy the invite link and send it to somebody.";
}

/** Who talks with us, or whom we call; of those who have left, the call is still the call with them. */
function whoIsThere(people) {
  const names = people.filter(({ isSelf }) => !isSelf).map(({ displayName, user }) => displayName || user);
  return names.length ? names : here.call.others.map(({ user }) => nameOf(here.call, user));
}

function onMedia() {
  render();
  const states = Object.values(here.room?.mediaStates ?? {});
  if (states.includes("failed")) here.unreachable = true;
  if (states.length && states.every((state) => state === "connected" || state === "new")) here.unreachable = false;
  // Until it is over: a network that lets nothing through is no passing trouble.
  if (here.unreachable) trouble("media", "Audio and video cannot reach the server. Your network may not let them through. Trying again…");
  else if (states.includes("disconnected")) trouble("media", "Audio and video are interrupted. Reconnecting…");
  else trouble("media", null);
}

function withRoom(address, name) {
  const url = new URL(address);
  url.searchParams.set("room", name);
  return url.href;
}

export async function copyInvite() {
  const link = withRoom(`${location.origin}/`, here.room.name);
  try {
    await navigator.clipboard.writeText(link);
    toast("Invite link copied. Send it to somebody.");
  } catch {
    prompt("Copy this link:", link); // pages without https have no clipboard
  }
}

/** How the connection is. */
setInterval(async () => {
  if (!here.room || document.hidden) return;
  const seen = here.room;
  const quality = await seen.quality().catch(() => null);
  if (!quality || seen !== here.room) return;
  here.quality = quality;
  render();
}, 2000);
