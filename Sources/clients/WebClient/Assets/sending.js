// sending.js: what one sends: microphone, camera and screen, and their buttons.
import { isScreen, openMedia, openScreen } from "./roost.js";
import { here, own, render } from "./here.js";
import { fillDevices, height, keepOpen, music, takeMedia } from "./media.js";
import { $, announce, memory, sentence, toast, wishes } from "./page.js";

const simulcast = wishes.has("simulcast") ? wishes.get("simulcast") === "1" : undefined;

/** The screen that one shares, from the moment of the choice: also while it is being published. */
export const screen = () => [...(here.room?.localTracks ?? [])].find(isScreen);

/** How often each is being opened now for a room: nobody shall open it a second time meanwhile. @type {WeakMap<Room, { audio: number, video: number }>} */
const openings = new WeakMap();

/** Whether a device of this kind is being opened for the room that one is in. @param {"audio"|"video"} kind */
export const isOpening = (kind) => (openings.get(here.room)?.[kind] ?? 0) > 0;

/** Whether one's token allows to send a kind; devices are not opened in vain. @param {"audio"|"video"|"screen"} kind */
const may = (kind) => here.client.grants?.includes(`publish:${kind}`) ?? true;

/** The seat is taken before the devices are asked for: whoever is refused is not asked in vain. */
export async function publish(into, withVideo, muted = false) {
  const pictures = withVideo && into.media !== "audio" && may("video");
  // A camera that is not opened here may be wanted meanwhile, as when the others agree to video.
  await whileOpening(into, pictures ? ["audio", "video"] : ["audio"], async () => {
    const media = await takeMedia(pictures, may("audio"));
    if (into !== here.room) return [media.audio, media.video].forEach((track) => track?.stop());
    if (media.error) toast(sentence(media.error));
    await Promise.all([publishOne(into, "microphone", media.audio, muted), publishOne(into, "camera", media.video)]);
  });
  await fillDevices();
}

async function whileOpening(into, kinds, run) {
  const counts = openings.get(into) ?? { audio: 0, video: 0 };
  openings.set(into, counts);
  for (const kind of kinds) counts[kind] += 1;
  render();
  try {
    await run();
  } finally {
    for (const kind of kinds) counts[kind] -= 1;
    render();
  }
}

/** @returns {Promise<?LocalTrack>} what is sent then; a device that cannot be is not left on */
async function publishOne(into, label, track, muted = false) {
  if (!track) return null;
  try {
    return await into.publish(track, { label, simulcast: label === "screen" ? false : simulcast, muted, music });
  } catch (error) {
    track.stop();
    if (into === here.room) toast(sentence(error));
    return null;
  }
}

/** Keeps the camera and microphone of a room that was left for another one. */
export function moveOut(before) {
  const tracks = [...before.localTracks].filter((track) => !isScreen(track));
  for (const track of before.localTracks) if (isScreen(track)) track.mediaStreamTrack.stop();
  const of = (kind) => tracks.find((track) => track.kind === kind)?.mediaStreamTrack;
  keepOpen({ audio: of("audio"), video: of("video") });
}

/** A room was left: all lights go out. */
export function endAll(was) {
  for (const track of [...was.localTracks]) track.mediaStreamTrack.stop();
}

/** There is sound alone from now on: the camera's light goes out. */
export async function endPictures() {
  const pictures = [...here.room.localTracks].filter(({ kind }) => kind === "video");
  await Promise.all(pictures.map(stopSending));
}

/** The buttons of what one sends. */
export function showTools() {
  showTool("mic", own("audio"), ["Mute", "Unmute", "Start mic"], ["i-mic", "i-mic-off"]);
  showTool("cam", own("video"), ["Stop video", "Start video", "Start video"], ["i-cam", "i-cam-off"]);
  if (!own("video")) showCamera();
  for (const [id, kind] of [["mic", "audio"], ["cam", "video"]]) $(id).hidden = !own(kind) && !may(kind);
  $("screen").setAttribute("aria-pressed", String(Boolean(screen())));
  $("screen").querySelector("span").textContent = screen() ? "Stop sharing" : "Share screen";
  $("screen").hidden = !navigator.mediaDevices?.getDisplayMedia || here.room.media === "audio" || !may("screen");
}

/** A device that is not open can be opened later: it was missing, not allowed, or not wanted. */
function showTool(id, track, [mute, unmute, start], [on, off]) {
  const muted = Boolean(track?.muted);
  const button = $(id);
  const words = !track ? start : muted ? unmute : mute;
  button.disabled = !track && isOpening(id === "mic" ? "audio" : "video");
  button.setAttribute("aria-pressed", String(muted));
  button.querySelector("span").textContent = words;
  button.querySelector("use").setAttribute("href", `#${muted || !track ? off : on}`);
  button.title = `${words} (${button.getAttribute("aria-keyshortcuts")})`;
}

/** Where there is sound alone, the other side of a call is asked for video first; a room stays as it is. */
function showCamera() {
  if (here.room.media !== "audio") return;
  const asked = hasAsked();
  $("cam").disabled = !here.call || (!asked && here.call.joined.length < 2);
  $("cam").querySelector("span").textContent = asked ? "Stop asking" : here.call && here.call.kind !== "group" ? "Ask for video" : "Start video";
}

/** Whether the others are being asked for video. */
const hasAsked = () => here.call?.mediaRequest?.by === here.client.user;

export async function toggle(kind) {
  const track = own(kind);
  const button = $(kind === "audio" ? "mic" : "cam");
  if (!track) return button.disabled || button.hidden ? undefined : startDevice(kind);
  if (track.mediaStreamTrack.readyState === "ended") return openAgain(track);
  const thing = kind === "audio" ? "Microphone" : "Camera";
  const { muted } = track;
  if (!muted) announce(`${thing} off.`); // at once; on is for the server to say
  await (muted ? track.unmute().then(() => announce(`${thing} on.`)) : track.mute()).catch((error) => toast(sentence(error)));
}

export async function startDevice(kind) {
  if (kind === "video" && here.room.media === "audio") return askForVideo();
  const [id, into] = [kind === "audio" ? "microphone" : "camera", here.room];
  await whileOpening(into, [kind], async () => {
    try {
      const media = await openMedia({ [kind]: $(`${id}-now`).value || true, height, music });
      if (into === here.room) await publishOne(into, id, media[kind]);
      else media[kind].stop();
    } catch (error) {
      toast(sentence(error));
    }
  });
}

/** What was unplugged or taken away is wanted again. */
async function openAgain(track) {
  const { kind } = track;
  await whileOpening(here.room, [kind], async () => {
    try {
      await replace(track, $(`${kind === "audio" ? "microphone" : "camera"}-now`).value || true);
      await track.unmute();
    } catch (error) {
      toast(sentence(error));
    }
  });
}

/** Sends another device's sound or picture in the place of what a track sends; one that comes too late is closed again. */
async function replace(track, device) {
  const { kind } = track;
  const where = here.room;
  const fresh = (await openMedia({ [kind]: device, height, music }))[kind];
  if (where !== here.room || !where.localTracks.has(track)) return fresh.stop();
  const before = track.mediaStreamTrack;
  await track.replace(fresh);
  before.stop();
}

/** Asks for video where there is sound alone, or does not ask any more. */
async function askForVideo() {
  const request = hasAsked() ? here.call.mediaChange("cancel") : here.call.mediaChange("request", "video");
  // 3003: answered in the very moment in which it was taken back.
  await request.catch((error) => error.code !== 3003 && toast(sentence(error)));
  render();
}

export async function toggleScreen() {
  if (screen()) return stopSending(screen());
  const into = here.room;
  try {
    const track = await openScreen();
    if (into !== here.room) return track.stop(); // the call ended while he chose
    const shared = await publishOne(into, "screen", track);
    // Ended before anybody listened for that.
    if (shared && track.readyState === "ended" && into === here.room) return stopSending(shared);
  } catch (error) {
    if (error.code !== -4) toast(sentence(error)); // −4: changed his mind
  }
  render();
}

async function stopSending(track) {
  track.mediaStreamTrack.stop();
  // 4001: the server has ended it already.
  await here.room?.unpublish(track).catch((error) => error.code !== 4001 && toast(sentence(error)));
  render();
}

/**
 * Unplugged or taken away: the other device if there is one, otherwise we say so. A screen is no device: that is how the browser's own
 * “Stop sharing” ends it, and no camera must take its place.
 */
export async function deviceGone(track) {
  if (isScreen(track)) return stopSending(track);
  const thing = track.kind === "audio" ? "The microphone" : "The camera";
  const where = here.room;
  try {
    await replace(track, true);
    if (where === here.room) toast(`${thing} is gone, so another one is used now.`);
  } catch (error) {
    await track.mute().catch(() => {});
    toast(error.code === -4 ? sentence(error) : `${thing} is gone. Plug it in and switch it on again.`);
  }
  render();
}

export async function changeDevice(kind, id) {
  memory.set(id, $(`${id}-now`).value);
  const track = own(kind);
  if (!track) return startDevice(kind);
  await replace(track, $(`${id}-now`).value || true).catch((error) => toast(sentence(error)));
  render();
}
