// app.js: the page at `/`, on top of roost.js. It takes its wishes from the address, after `?` or `#`:
//
//   room=demo  name=anna   what the form starts with
//   autojoin=1             join without asking
//   audio=0  video=0       without microphone, without camera
//   height=720             lines of the picture (360); from 540 on it is sent in three sizes
//   simulcast=0 or 1       send one size, or three, whatever the height
//   music=1                sound as it is: no echo cancellation, noise suppression or gain control
//   bundlePolicy=…         of both peer connections: max-bundle, balanced, max-compat
//
// `window.roost` holds `{client, room}` for the console.
import { RoostClient, RoostError, listDevices, openMedia, openScreen, rtcUrl } from "./roost.js";
import { Grid, make, messageElement } from "./view.js";

const $ = (id) => document.getElementById(id);
const wishes = new URLSearchParams(`${location.search.slice(1)}&${location.hash.slice(1)}`);
const isOff = (key) => wishes.get(key) === "0";
const height = Math.min(Math.max(Number(wishes.get("height")) || 360, 90), 2160);
const music = wishes.get("music") === "1";
const simulcast = wishes.has("simulcast") ? wishes.get("simulcast") === "1" : undefined;

let client = null;
let room = null;
let preview = { audio: null, video: null }; // MediaStreamTrack
let screenTrack = null;
let names = new Map(); // user → displayName, also of those who left
let unread = 0;

// ---- small things

const memory = {
  get: (key) => {
    try {
      return localStorage.getItem(`roost.${key}`);
    } catch {
      return null; // storage may be switched off
    }
  },
  set: (key, value) => {
    try {
      localStorage.setItem(`roost.${key}`, value);
    } catch { /* the same */ }
  },
};

const sentence = (error) => (error instanceof RoostError ? error.message : "Something went wrong. Please reload the page.");
/** What one sends of a kind, the screen aside. */
const own = (kind) => [...room.localTracks].find((track) => track.kind === kind && track.label !== "screen");
const wide = () => matchMedia("(min-width: 761px)").matches;
const announce = (text) => ($("announce").textContent = text);

let toastTimer;
function toast(text) {
  $("toast").textContent = text;
  $("toast").classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => $("toast").classList.remove("shown"), 5000);
}

/** Several things may be wrong at once; the first in this order is shown. */
const troubles = { session: null, media: null, sound: null };
function trouble(kind, text, action) {
  troubles[kind] = text ? { text, action } : null;
  const worst = Object.values(troubles).find(Boolean);
  $("banner").hidden = !worst;
  $("banner-text").textContent = worst?.text ?? "";
  $("banner-action").hidden = !worst?.action;
  $("banner-action").textContent = worst?.action?.label ?? "";
  $("banner-action").onclick = worst?.action?.run ?? null;
}

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

// ---- devices

async function fillDevices() {
  const devices = await listDevices().catch(() => ({ audio: [], video: [] }));
  for (const [kind, id, word, none] of [["audio", "microphone", "Microphone", "No microphone, just listen"], ["video", "camera", "Camera", "No camera"]]) {
    for (const select of [$(id), $(`${id}-now`)]) {
      const chosen = select.value || memory.get(id) || "";
      const options = devices[kind].filter(({ deviceId }) => deviceId && deviceId !== "default")
        .map(({ deviceId, label }, index) => make("option", { value: deviceId }, label || `${word} ${index + 1}`));
      select.replaceChildren(make("option", { value: "" }, `Default ${word.toLowerCase()}`), ...options);
      if (select.id === id) select.append(make("option", { value: "none" }, none));
      select.value = [...select.options].some(({ value }) => value === chosen) ? chosen : "";
    }
  }
}

/** What the form asks for, in openMedia's terms. */
function wanted() {
  const of = (id, key) => !isOff(key) && $(id).value !== "none" && ($(id).value || true);
  return { audio: of("microphone", "audio"), video: !$("audio-only").checked && of("camera", "video"), height, music };
}

/** Opens what is wanted; where a device is missing, what there is. @returns the tracks, and the error there was */
async function openWanted() {
  const want = wanted();
  try {
    return { ...(await openMedia(want)), error: null };
  } catch (error) {
    if (error.code === -7 || !want.audio || !want.video) return { audio: null, video: null, error };
    for (const less of [{ audio: want.audio, music }, { video: want.video, height }]) {
      const media = await openMedia(less).catch(() => null);
      if (media) return { ...media, error };
    }
    return { audio: null, video: null, error };
  }
}

function stopPreview() {
  for (const track of [preview.audio, preview.video]) track?.stop();
  preview = { audio: null, video: null };
  showPreview();
}

function showPreview() {
  $("preview").hidden = !preview.video;
  $("preview").srcObject = preview.video ? new MediaStream([preview.video]) : null;
  $("preview-text").hidden = Boolean(preview.video);
  $("preview-text").textContent = preview.audio ? "Your microphone is on, your camera is off." : "Your camera is off.";
  $("preview-start").hidden = Boolean(preview.video || preview.audio);
  meter(preview.audio);
}

let previews = 0;
async function startPreview() {
  stopPreview();
  const mine = ++previews;
  const { error, ...media } = await openWanted();
  // Joined meanwhile, or asked for another one.
  if (room || mine !== previews) return [media.audio, media.video].forEach((track) => track?.stop());
  preview = media;
  showPreview();
  if (error) $("preview-text").textContent = sentence(error);
  await fillDevices();
}

let meterStop = null;
/** Shows that the microphone hears something. */
function meter(track) {
  meterStop?.();
  meterStop = null;
  $("meter").hidden = !track;
  if (!track) return;
  const context = new AudioContext();
  const analyser = new AnalyserNode(context, { fftSize: 512 });
  context.createMediaStreamSource(new MediaStream([track])).connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  const timer = setInterval(() => {
    analyser.getFloatTimeDomainData(samples);
    const power = samples.reduce((sum, value) => sum + value * value, 0) / samples.length;
    $("meter").firstElementChild.style.setProperty("--level", Math.min(1, Math.sqrt(power) * 4).toFixed(2));
  }, 100);
  meterStop = () => {
    clearInterval(timer);
    context.close();
  };
}

async function mayPreviewUnasked() {
  try {
    const states = await Promise.all(["camera", "microphone"].map((name) => navigator.permissions.query({ name })));
    return states.every(({ state }) => state === "granted");
  } catch {
    return false;
  }
}

// ---- joining

async function join() {
  const name = $("name").value.trim();
  const roomName = $("room").value.trim();
  if (!name || !roomName) return lobbyError("Please enter your name and a room.");
  lobbyError("");
  $("join").disabled = true;
  $("join").textContent = "Joining…";
  try {
    await enter(name, roomName);
  } catch (error) {
    client?.close();
    lobbyError(sentence(error));
  } finally {
    $("join").disabled = false;
    $("join").textContent = "Join";
  }
}

async function enter(name, roomName) {
  const rtc = wishes.has("bundlePolicy") ? { bundlePolicy: wishes.get("bundlePolicy") } : undefined;
  client = new RoostClient(rtcUrl(), { displayName: name, rtc });
  client.addEventListener("state", onState);
  client.addEventListener("rejoined", () => toast("Connected again."));
  await client.connect();
  room = await client.join(roomName);
  window.roost = { client, room };
  memory.set("name", name);
  for (const id of ["microphone", "camera"]) memory.set(id, $(id).value);
  openRoom();
  await publish(room);
}

/** The seat is taken before the devices are asked for: whoever is refused is not asked in vain. */
async function publish(into) {
  let media = preview;
  preview = { audio: null, video: null };
  let error = null;
  if (!media.audio && !media.video) ({ error, ...media } = await openWanted());
  showPreview();
  if (into.media === "audio") {
    media.video?.stop();
    media.video = null;
  }
  if (into !== room) return [media.audio, media.video].forEach((track) => track?.stop());
  if (error) toast(sentence(error));
  await Promise.all([publishOne(into, "microphone", media.audio), publishOne(into, "camera", media.video)]);
  render();
  await fillDevices();
}

async function publishOne(into, label, track) {
  if (!track) return;
  try {
    await into.publish(track, { label, simulcast });
  } catch (error) {
    track.stop();
    if (into === room) toast(sentence(error));
  }
}

function lobbyError(text) {
  $("join-error").textContent = text;
  $("join-error").hidden = !text;
}

// ---- the room

function openRoom() {
  lobbyError("");
  names = new Map();
  unread = 0;
  $("messages").replaceChildren();
  const on = (type, listener) => room.addEventListener(type, ({ detail }) => listener(detail));
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
  on("closed", ({ error }) => leave(error));
  $("lobby").hidden = true;
  $("call").hidden = false;
  $("chat").hidden = !wide();
  document.title = `${room.name} · Roost`;
  history.replaceState(null, "", withRoom(location.href, room.name));
  render();
  showHistory();
  $("room-title").focus();
}

/** Back to the form; `error` says why when it was not our own wish. */
function leave(error) {
  if (!room) return;
  const was = room;
  room = null;
  window.roost = { client: null, room: null };
  for (const track of [...was.localTracks]) track.mediaStreamTrack.stop();
  screenTrack = null;
  was.leave();
  client.close();
  grid.clear();
  for (const kind of Object.keys(troubles)) trouble(kind, null);
  if ($("devices").open) $("devices").close();
  $("call").hidden = true;
  $("lobby").hidden = false;
  document.title = "Roost";
  showPreview();
  lobbyError(error ? sentence(error) : "");
  $("join").focus();
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
  for (const { user, displayName } of people) names.set(user, displayName || user);
  $("room-title").textContent = room.name;
  $("room-count").textContent = room.limit ? `${people.length} of ${room.limit}` : String(people.length);
  $("room-count").setAttribute("aria-label", `${people.length} people in the room${room.limit ? `, of ${room.limit} seats` : ""}`);
  $("alone").hidden = people.length > 1;
  grid.render(room);
  showTool("mic", own("audio"), ["Mute", "Unmute"], ["i-mic", "i-mic-off"]);
  showTool("cam", own("video"), ["Stop video", "Start video"], ["i-cam", "i-cam-off"]);
  $("screen").setAttribute("aria-pressed", String(Boolean(screenTrack)));
  $("screen").querySelector("span").textContent = screenTrack ? "Stop sharing" : "Share screen";
  $("screen").hidden = !navigator.mediaDevices?.getDisplayMedia || room.media === "audio";
  showAddressees(people);
}

function showTool(id, track, [mute, unmute], [on, off]) {
  const muted = Boolean(track?.muted);
  const button = $(id);
  button.disabled = !track;
  button.setAttribute("aria-pressed", String(muted));
  button.querySelector("span").textContent = muted ? unmute : mute;
  button.querySelector("use").setAttribute("href", `#${muted || !track ? off : on}`);
  button.title = track ? `${muted ? unmute : mute} (${button.getAttribute("aria-keyshortcuts")})` : "";
}

async function toggle(kind) {
  const track = own(kind);
  if (!track) return;
  const thing = kind === "audio" ? "Microphone" : "Camera";
  announce(track.muted ? `${thing} on.` : `${thing} off.`);
  await (track.muted ? track.unmute() : track.mute()).catch((error) => toast(sentence(error)));
}

async function toggleScreen() {
  if (screenTrack) return stopScreen(screenTrack);
  try {
    const track = await openScreen();
    screenTrack = await room.publish(track, { label: "screen", simulcast: false });
  } catch (error) {
    if (error.code !== -4) toast(sentence(error)); // −4: changed his mind
  }
  render();
}

async function stopScreen(track) {
  screenTrack = null;
  track.mediaStreamTrack.stop();
  await room?.unpublish(track).catch((error) => toast(sentence(error)));
  render();
}

// ---- troubles

function onState({ detail: { state } }) {
  const waiting = state === "reconnecting";
  $("connection").className = waiting ? "dot waiting" : "dot";
  $("connection").setAttribute("aria-label", waiting ? "Reconnecting" : "Connected");
  trouble("session", waiting && room ? "Reconnecting…" : null);
}

function onMedia() {
  const states = Object.values(room?.mediaStates ?? {});
  if (states.includes("failed")) trouble("media", "Audio and video cannot reach the server. Trying again…");
  else if (states.includes("disconnected")) trouble("media", "Audio and video are interrupted. Reconnecting…");
  else trouble("media", null);
}

/** Unplugged or taken away: the other device if there is one, otherwise we say so. */
async function deviceGone(track) {
  if (track === screenTrack) return stopScreen(track);
  const { kind } = track;
  try {
    const media = await openMedia({ [kind]: true, height, music });
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
  try {
    const media = await openMedia({ [kind]: $(`${id}-now`).value || true, height, music });
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

// ---- chat

function showAddressees(people) {
  const select = $("chat-to");
  const chosen = select.value;
  const others = people.filter(({ isSelf }) => !isSelf).map(({ user }) => make("option", { value: user }, names.get(user)));
  const same = [...select.options].slice(1).every((option, index) => option.value === others[index]?.value && option.text === others[index].text);
  if (same && select.options.length === others.length + 1) return; // do not pull a list away that somebody has open
  select.replaceChildren(make("option", { value: "" }, "everybody"), ...others);
  select.value = others.some(({ value }) => value === chosen) ? chosen : "";
}

function showHistory() {
  $("messages").replaceChildren(...room.chat.map(element));
  scrollChat();
}

function element(message) {
  const mine = message.from === room.self?.user;
  const to = (message.to ?? []).map((user) => (user === room.self?.user ? "you" : names.get(user) ?? user)).join(", ");
  return messageElement(message, message.displayName ?? names.get(message.from) ?? message.from, to, mine);
}

function scrollChat() {
  $("messages").scrollTop = $("messages").scrollHeight;
}

function received(message) {
  $("messages").append(element(message));
  scrollChat();
  if ($("chat").hidden) showUnread(unread + 1);
}

function showUnread(count) {
  unread = count;
  $("unread").textContent = String(count);
  $("unread").hidden = count === 0;
  $("chat-toggle").setAttribute("aria-label", count ? `Chat, ${count} unread` : "Chat");
}

function toggleChat(open = $("chat").hidden) {
  $("chat").hidden = !open;
  $("chat-toggle").setAttribute("aria-expanded", String(open));
  if (open) {
    showUnread(0);
    scrollChat();
    $("chat-text").focus();
  } else {
    $("chat-toggle").focus();
  }
}

async function sendChat() {
  const text = $("chat-text").value.trim();
  if (!text) return;
  const to = $("chat-to").value;
  $("chat-text").value = "";
  try {
    await room.sendChat(text, { to: to ? [to] : undefined });
  } catch (error) {
    $("chat-text").value ||= text;
    toast(sentence(error));
  }
}

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
  if (!room || event.ctrlKey || event.metaKey || event.altKey || $("devices").open) return;
  if (event.key === "Escape" && $("chat").contains(document.activeElement)) return toggleChat(false);
  if (event.target.closest("input, select, textarea")) return;
  const run = { m: () => toggle("audio"), v: () => toggle("video"), c: () => toggleChat() }[event.key.toLowerCase()];
  if (!run || event.repeat) return;
  event.preventDefault();
  run();
}

const submit = (form, run) => $(form).addEventListener("submit", (event) => {
  event.preventDefault();
  run();
});

submit("join-form", join);
submit("chat-form", sendChat);
$("preview-start").onclick = startPreview;
for (const id of ["microphone", "camera", "audio-only"]) {
  $(id).onchange = () => {
    $("camera").disabled = $("audio-only").checked;
    if (preview.audio || preview.video) startPreview();
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
$("leave").onclick = () => leave(null);
addEventListener("keydown", onKey);
addEventListener("pagehide", () => client?.close());
navigator.mediaDevices?.addEventListener?.("devicechange", fillDevices);

$("name").value = wishes.get("name") ?? memory.get("name") ?? "";
$("room").value = wishes.get("room") ?? "demo";
$("audio-only").checked = isOff("video");
$("camera").disabled = $("audio-only").checked;
await fillDevices();
if (wishes.get("autojoin") === "1" && $("name").value) await join();
else if (await mayPreviewUnasked()) await startPreview();
