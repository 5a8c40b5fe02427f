// lobby.js: the form before a room, waiting to be let in, and a page that goes away and comes back.
import { RoostClient, RoostError, rtcUrl } from "./roost.js";
import { here, own, publicState, render } from "./here.js";
import { $, bookmark, memory, sentence, toast, token, trouble, wishes } from "./page.js";
import { cameBack, crashedIn, forgetSeat, keepSeat } from "./seat.js";
import { publish } from "./sending.js";
import { enterRoom, leave } from "./stage.js";
import { isForCalls, lobbyError, showTab } from "./tabs.js";

/** Says what the server would refuse before it is asked: names have 128 bytes, of which other scripts take several a letter. */
function isTooLong(field, text) {
  if (new TextEncoder().encode(text).length <= 128) return false;
  lobbyError(new RoostError(1010, "", { field }).message);
  return true;
}

export function makeClient(identity) {
  const rtc = wishes.has("bundlePolicy") ? { bundlePolicy: wishes.get("bundlePolicy") } : undefined;
  const made = new RoostClient(rtcUrl(), { ...identity, ...(token && { token, user: undefined }), rtc }); // a token says the user
  made.addEventListener("state", ({ detail }) => made === here.client && onState(detail));
  made.addEventListener("waiting", ({ detail }) => showWaiting(detail.room));
  made.addEventListener("rejoined", () => toast("Connected again."));
  here.client = made;
  publicState();
  return made;
}

function onState({ state, error }) {
  const waiting = state === "reconnecting";
  trouble("session", waiting && (here.room || here.online) ? "Reconnecting…" : null);
  render();
  if (state === "closed" && here.online) {
    setOnline(false);
    if (error && !here.room) lobbyError(sentence(error));
  }
}

/** Be reachable by name, for as long as the page is open. */
async function goOnline() {
  const name = $("name").value.trim();
  if (!name) return lobbyError("Please enter your name.");
  if (isTooLong("displayName", name)) return;
  lobbyError("");
  if (globalThis.Notification?.permission === "default") Promise.resolve(Notification.requestPermission()).catch(() => {});
  await (await import("./online.js")).goOnline(name);
}

/** The page goes away. In a call, or on its way back into one, it may be loaded again at once, so that nothing is hung up. */
export function goAway() {
  const kept = here.returning ?? (here.call && here.online ? whatIsSent() : null);
  if (!here.call) forgetSeat();
  if (!kept) return here.client?.close();
  here.going = true;
  const { deviceId, resumeToken } = here.client?.abandon() ?? {};
  bookmark.set({ ...kept, ...(resumeToken && { deviceId, resumeToken }) });
}

function whatIsSent() {
  const [video, audio] = [own("video"), own("audio")];
  return { name: $("name").value, callId: here.call.callId, video: Boolean(video && !video.muted), muted: Boolean(audio?.muted) };
}

export function goOffline() {
  here.returning = null;
  here.client?.close();
  setOnline(false);
}

export function setOnline(yes) {
  here.online = yes;
  if (!yes) {
    here.calls?.offline();
    if (!here.room) here.client = null;
  }
  $("name").readOnly = yes;
  showTab();
}

/** One waits in the lobby of a room; of none with null. */
function showWaiting(name) {
  $("waiting").hidden = name === null;
  $("waiting-text").textContent = name === null ? "" : `Please wait until somebody lets you into ${name}.`;
  if (name === null) return;
  $("join").textContent = "Waiting…";
  $("waiting-stop").focus(); // the button that had it is off
}

let hasGivenUp = false;
/** Who knocks does so as long as the session lives. */
export function stopWaiting() {
  hasGivenUp = true;
  if (here.online) goOffline();
  else here.client.close();
}

export async function submitForm() {
  hasGivenUp = false;
  const [run, working] = isForCalls() ? [goOnline, "Connecting…"] : [join, "Joining…"];
  $("join").disabled = true;
  $("join").textContent = working;
  try {
    await run();
  } catch (error) {
    if (!here.online) here.client?.close();
    lobbyError(hasGivenUp ? "" : sentence(error));
  } finally {
    showWaiting(null);
    $("join").disabled = false;
    showTab();
    if (hasGivenUp) $("join").focus();
  }
}

async function join() {
  const name = $("name").value.trim();
  const roomName = $("room").value.trim().normalize();
  if (!name || !roomName) return lobbyError("Please enter your name and a room.");
  if (isTooLong("displayName", name) || isTooLong("room", roomName)) return;
  lobbyError("");
  const before = crashedIn();
  cameBack();
  // Who one was: another user of the same name would be kept out by the seat that the crash has left behind.
  const isSame = before?.name === name && before.room === roomName;
  if (isSame && before.online && !here.online) await goOnline();
  if (!here.online) await makeClient({ ...(isSame && { user: before.user }), displayName: name, callable: false }).connect();
  const entered = await here.client.join(roomName, { waits: true, ...(isSame && { takeover: true, resumeToken: before.resumeToken }) });
  memory.set("name", name);
  for (const id of ["microphone", "camera"]) memory.set(id, $(id).value);
  enterRoom(entered, null, leave);
  await keepSeat();
  await (isSame ? publish(entered, before.video, before.muted) : publish(entered, true));
}
