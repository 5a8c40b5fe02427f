// stage.js: the room or call that one is in, as it is shown: people, titles, troubles, how good the connection is.
import { afterCall, changedAt, onLeft, phone, showAsk } from "./calling.js";
import { openChat, received, showHistory, showPeople } from "./chat.js";
import { here, publicState } from "./here.js";
import { memberActions, renderInvite } from "./inviting.js";
import { lobbyError, showTab } from "./lobby.js";
import { showPreview } from "./media.js";
import { $, announce, memory, noTroubles, sentence, toast, trouble } from "./page.js";
import { showInvited, showOutgoing, showQuality, showTimer } from "./ringing.js";
import { deviceGone, endAll, showTools } from "./sending.js";
import { Grid } from "./view.js";
import { list, nameOf } from "./words.js";

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

export const grid = new Grid($("grid"), play);

/** @param {Room} entered @param {?Call} itsCall */
export function openRoom(entered, itsCall) {
  lobbyError("");
  [here.room, here.call] = [entered, itsCall];
  publicState();
  openChat(entered, wide() && !itsCall);
  const on = (type, listener) => entered.addEventListener(type, ({ detail }) => entered === here.room && listener(detail));
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
  on("localTrackRefused", ({ track }) => track.mediaStreamTrack.stop());
  on("warning", ({ error }) => toast(sentence(error)));
  on("closed", ({ error }) => !here.switching && closed(error));
  $("lobby").hidden = true;
  $("call").hidden = false;
  $("call").dataset.of = here.call ? "call" : "room";
  $("invite").hidden = $("room-count").hidden = Boolean(here.call);
  $("leave").querySelector("span").textContent = here.call ? "Hang up" : "Leave";
  $("leave").querySelector("use").setAttribute("href", here.call ? "#i-hangup" : "#i-leave");
  $("leave").className = here.call ? "stop" : "danger";
  $("add").hidden = !here.call;
  $("quality").hidden = true;
  document.title = `${here.call ? list(here.call.others.map(({ user }) => nameOf(here.call, user))) : here.room.name} · Roost`;
  if (!here.call) history.replaceState(null, "", withRoom(location.href, here.room.name));
  render();
  showHistory();
  (here.call?.isOutgoing && !here.call.startedAt ? $("outgoing-title") : $("room-title")).focus();
}

/** The server took the seat away, or the session is lost for good. A call that is over says so itself. */
export async function closed(error) {
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

/** Back to the form; `error` says why when it was not our own wish. */
export function leave(error) {
  if (!here.room) return;
  const was = here.room;
  here.room = null;
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
  onLeft();
  (was.callId && here.online ? $("dial-to") : $("join")).focus();
}

function told(text) {
  announce(text);
  render();
}

let rendering = false;

/** Many events make one rendering. */
export function render() {
  if (rendering) return;
  rendering = true;
  queueMicrotask(() => {
    rendering = false;
    if (here.room) renderNow();
  });
}

function renderNow() {
  const people = [...here.room.participants.values()];
  $("room-title").textContent = here.call ? list(whoIsThere(people)) : here.room.name;
  $("room-count").textContent = here.room.limit ? `${people.length} of ${here.room.limit}` : String(people.length);
  $("room-count").setAttribute("aria-label", `${people.length} people in the room${here.room.limit ? `, of ${here.room.limit} seats` : ""}`);
  showAlone(people.length > 1);
  grid.render(here.room);
  showTools();
  showPeople(people);
  showOutgoing(here.call);
  $("leave").hidden = !$("outgoing").hidden; // there it says “Cancel”
  showInvited(here.call, changedAt, memberActions);
  showTimer(here.call);
  showAsk();
  renderInvite();
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
  const states = Object.values(here.room?.mediaStates ?? {});
  if (states.includes("failed")) trouble("media", "Audio and video cannot reach the server. Trying again…");
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

/** Every second the time, every other second how the connection is. */
let ticks = 0;
setInterval(async () => {
  if (!here.room) return;
  showTimer(here.call);
  if (ticks++ % 2 || document.hidden) return;
  const seen = here.room;
  const quality = await seen.quality().catch(() => null);
  if (quality && seen === here.room) showQuality(quality);
}, 1000);
