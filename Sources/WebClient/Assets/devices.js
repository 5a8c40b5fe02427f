// devices.js: cameras, microphones, screens, and the server's address.
import { RoostError, deviceError } from "./errors.js";

/** The server's address for the page this runs on. @param {Location|URL} [from] @returns {string} */
export function rtcUrl(from = globalThis.location) {
  return `${from.protocol === "https:" ? "wss" : "ws"}://${from.host}/rtc`;
}

/**
 * Cameras and microphones. Labels are empty until the browser was allowed to use one.
 * @returns {Promise<{audio: MediaDeviceInfo[], video: MediaDeviceInfo[]}>}
 */
export async function listDevices() {
  const devices = (await navigator.mediaDevices?.enumerateDevices?.()) ?? [];
  const of = (kind) => devices.filter((device) => device.kind === kind);
  return { audio: of("audioinput"), video: of("videoinput") };
}

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
    audio: audio && { ...device(audio), echoCancellation: !music, noiseSuppression: !music, autoGainControl: !music },
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
export async function openScreen() {
  if (!navigator.mediaDevices?.getDisplayMedia) throw new RoostError(-7);
  try {
    const stream = await navigator.mediaDevices.getDisplayMedia({ video: { frameRate: { max: 15 } }, audio: false });
    const [track] = stream.getVideoTracks();
    track.contentHint = "detail";
    return track;
  } catch (error) {
    throw deviceError(error);
  }
}
