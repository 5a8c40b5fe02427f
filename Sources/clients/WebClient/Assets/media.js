// media.js: the page's camera and microphone: what is chosen, the preview, the picture of the microphone's level.
import { listDevices, openMedia } from "./roost.js";
import { $, memory, sentence, wishes } from "./page.js";
import { make } from "./view.js";

const isOff = (key) => wishes.get(key) === "0";
export const height = Math.min(Math.max(Number(wishes.get("height")) || 360, 90), 2160);
export const music = wishes.get("music") === "1";

let preview = { audio: null, video: null }; // MediaStreamTrack

export async function fillDevices() {
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
function wanted(withVideo) {
  const of = (id, key) => !isOff(key) && $(id).value !== "none" && ($(id).value || true);
  return { audio: of("microphone", "audio"), video: withVideo && !$("audio-only").checked && of("camera", "video"), height, music };
}

/** Opens what is wanted and not open yet; where a device is missing, what there is. @returns the tracks, and the error there was */
async function openWanted(withVideo = true, open = {}, withAudio = true) {
  const want = wanted(withVideo);
  if (open.audio || !withAudio) want.audio = false;
  if (open.video) want.video = false;
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

let isOpening = false;
/** Whether devices are open for the preview, or about to be. */
export const isPreviewing = () => isOpening || Boolean(preview.audio || preview.video);

/** Devices that are open already, to be shown in the preview and used by whatever is joined next. */
export function keepOpen(media) {
  preview = { audio: media.audio ?? null, video: media.video ?? null };
  showPreview();
}

/** Takes what the preview has, or opens what is wanted of what may be sent. @returns the tracks, and the error there was */
export async function takeMedia(withVideo, withAudio) {
  const live = (track) => (track?.readyState === "live" ? track : null); // not pulled out meanwhile
  const open = { audio: live(preview.audio), video: live(preview.video) };
  preview = { audio: null, video: null };
  const want = wanted(withVideo); // now, which the preview may not have known
  for (const [kind, isWanted] of [["audio", withAudio && want.audio], ["video", want.video]]) {
    if (isWanted) continue;
    open[kind]?.stop();
    open[kind] = null;
  }
  const more = await openWanted(withVideo, open, withAudio);
  showPreview();
  return { audio: open.audio ?? more.audio, video: open.video ?? more.video, error: more.error };
}

function stopPreview() {
  for (const track of [preview.audio, preview.video]) track?.stop();
  keepOpen({});
}

export function showPreview() {
  $("preview").hidden = !preview.video;
  $("preview").srcObject = preview.video ? new MediaStream([preview.video]) : null;
  $("preview-text").hidden = Boolean(preview.video);
  $("preview-text").textContent = preview.audio ? "Your microphone is on, your camera is off." : "Your camera is off.";
  $("preview-start").hidden = Boolean(preview.video || preview.audio);
  meter(preview.audio);
}

let previews = 0;
/** @param {() => boolean} isLate  joined meanwhile */
export async function startPreview(isLate) {
  stopPreview();
  const mine = ++previews;
  isOpening = true;
  const { error, ...media } = await openWanted();
  if (mine === previews) isOpening = false;
  if (isLate() || mine !== previews) return [media.audio, media.video].forEach((track) => track?.stop());
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

export async function mayPreviewUnasked() {
  try {
    const states = await Promise.all(["camera", "microphone"].map((name) => navigator.permissions.query({ name })));
    return states.every(({ state }) => state === "granted");
  } catch {
    return false;
  }
}
