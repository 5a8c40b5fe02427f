// devices.js: cameras, microphones, screens, and the server's address.
import { RoostError, deviceError } from "./errors.js";

/** The server's address for the page this runs on. @param {Location|URL} [from] @returns {string} */
export function rtcUrl(from = globalThis.location) {
  return `${from.protocol === "https:" ? "wss" : "ws"}://${from.host}/rtc`;
}

/**
 * Microphones, cameras and loudspeakers. Labels are empty until the browser was allowed to use one.
 * @returns {Promise<{audio: MediaDeviceInfo[], video: MediaDeviceInfo[], output: MediaDeviceInfo[]}>}
 */
export async function listDevices() {
  const devices = (await navigator.mediaDevices?.enumerateDevices?.()) ?? [];
  const of = (kind) => devices.filter((device) => device.kind === kind);
  return { audio: of("audioinput"), video: of("videoinput"), output: of("audiooutput") };
}

/** Sound as it is, or as voices want it. */
const processing = (on) => ({ echoCancellation: on, noiseSuppression: on, autoGainControl: on });

/**
 * Opens microphone, camera or both.
 * @param {object} wanted
 * @param {boolean|string} [wanted.audio] true, or a deviceId
 * @param {boolean|string} [wanted.video] true, or a deviceId
 * @param {number} [wanted.height] of the picture: 360 by default
 * @param {boolean} [wanted.music] sound as it is: no echo cancellation, noise suppression or gain control
 * @returns {Promise<{audio: ?MediaStreamTrack, video: ?MediaStreamTrack}>} @throws {RoostError} −4 … −7
 */
export async function openMedia({ audio = false, video = false, height = 360, music = false }) {
  if (!navigator.mediaDevices?.getUserMedia) throw new RoostError(-7);
  if (!audio && !video) return { audio: null, video: null };
  const device = (id) => (typeof id === "string" && id ? { deviceId: { exact: id } } : {});
  const size = { width: { ideal: Math.round((height * 16) / 9) }, height: { ideal: height }, frameRate: { ideal: 25, max: 30 } };
  const constraints = {
    audio: audio && { ...device(audio), ...processing(!music) },
    video: video && { ...device(video), ...size },
  };
  try {
    const stream = await navigator.mediaDevices.getUserMedia(constraints);
    return { audio: stream.getAudioTracks()[0] ?? null, video: stream.getVideoTracks()[0] ?? null };
  } catch (error) {
    throw deviceError(error);
  }
}

/** Asks for a screen or window. @returns {Promise<MediaStreamTrack>} @throws {RoostError} */
export const openScreen = async () => (await openScreenMedia()).video;

/**
 * The same with its sound, where browser and user give that.
 * @param {{audio?: boolean}} [wanted] @returns {Promise<{video: MediaStreamTrack, audio: ?MediaStreamTrack}>} @throws {RoostError}
 */
export async function openScreenMedia({ audio = false } = {}) {
  if (!navigator.mediaDevices?.getDisplayMedia) throw new RoostError(-7);
  try {
    const stream = await navigator.mediaDevices.getDisplayMedia({ video: { frameRate: { max: 15 } }, audio: audio && processing(false) });
    const [[video], [sound = null]] = [stream.getVideoTracks(), stream.getAudioTracks()];
    video.contentHint = "detail";
    return { video, audio: sound };
  } catch (error) {
    throw deviceError(error);
  }
}
