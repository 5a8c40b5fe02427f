// lobby.js: the form before a room, being reachable for calls, and a page that goes away and comes back.
import { RoostClient, RoostError, rtcUrl } from "./roost.js";
import { enterAgain, moveTo, onCallChanged, onIncoming, openRoom, rememberLeg, rings } from "./calling.js";
import { here, own, publicState, render } from "./here.js";
import { $, bookmark, memory, sentence, toast, trouble, userOf, wishes } from "./page.js";
import { phone } from "./phone.js";
import { publish } from "./sending.js";
import { countMissed, isForCalls, lobbyError, showTab } from "./tabs.js";
import * as tones from "./tones.js";

/** Says what the server would refuse before it is asked: names have 128 bytes, of which other scripts take several a letter. */
function isTooLong(field, text) {
  if (new TextEncoder().encode(text).length <= 128) return false;
  lobbyError(new RoostError(1010, "", { field }).message);
  return true;
}

function makeClient(identity) {
  const rtc = wishes.has("bundlePolicy") ? { bundlePolicy: wishes.get("bundlePolicy") } : undefined;
  const made = new RoostClient(rtcUrl(), { ...identity, rtc });
  made.addEventListener("state", ({ detail }) => made === here.client && onState(detail));
  made.addEventListener("rejoined", () => {
    if (here.call) rememberLeg(here.call.callId);
    toast("Connected again.");
  });
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
  tones.unlock();
  const hello = await connect(name);
  memory.set("name", name);
  if (here.returning) rememberLeg(here.returning.callId);
  setOnline(true);
  countMissed(hello.missed ?? 0);
  await phone.use(here.client, hello.missed);
  await comeBack(hello.current?.callId);
  if (hello.current && !here.room) await phone.look(); // a call that one may come back to
  await warnOfNamesakes(here.client);
}

/** Says hello as the device that this tab was before it was loaded again, if it was. */
async function connect(name) {
  const { deviceId, resumeToken } = here.returning ?? {};
  try {
    return await callable({ user: userOf(name), displayName: name, deviceId, resumeToken }).connect();
  } catch (error) {
    // Loaded again before the last hello was answered: the session that it began is in our way, and nobody knows its token.
    if (!here.returning || error.data?.reason !== "device_in_use") throw error;
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
  if (here.returning && here.returning.callId === callId) {
    const running = here.client.call(callId);
    await moveTo(running, () => enterAgain(running), here.returning.video, here.returning.muted);
  }
  here.returning = null;
}

/** Without passwords a name is all there is: whoever goes by the same one gets the same calls. */
async function warnOfNamesakes(made) {
  const [own] = await made.presence([made.user]).catch(() => []);
  if (own?.devices > 1 && !here.room) phone.status(`You are online as ${made.user} elsewhere, too: calls ring at both. If that is not you, choose another name.`);
}

/** The page goes away. In a call, or on its way back into one, it may be loaded again at once, so that nothing is hung up. */
export function goAway() {
  const kept = here.returning ?? (here.call && here.online ? whatIsSent() : null);
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

function setOnline(yes) {
  here.online = yes;
  if (!yes) {
    rings.clear();
    phone.use(null);
    if (!here.room) here.client = null;
  }
  $("name").readOnly = yes;
  showTab();
}

export async function submitForm() {
  const [run, working] = isForCalls() ? [goOnline, "Connecting…"] : [join, "Joining…"];
  $("join").disabled = true;
  $("join").textContent = working;
  try {
    await run();
  } catch (error) {
    if (!here.online) here.client?.close();
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
  if (isTooLong("displayName", name) || isTooLong("room", roomName)) return;
  lobbyError("");
  if (!here.online) await makeClient({ displayName: name, callable: false }).connect();
  const entered = await here.client.join(roomName);
  memory.set("name", name);
  for (const id of ["microphone", "camera"]) memory.set(id, $(id).value);
  openRoom(entered, null);
  await publish(entered, true);
}
