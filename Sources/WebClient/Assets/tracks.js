// tracks.js: a track that one publishes.
import { Queue, emit } from "./basics.js";

/** A bit rate that suits the picture: roughly 0.1 bit a pixel at 25 frames, within sense. */
function videoBitrate(height = 360) {
  return Math.round(Math.min(3_000_000, Math.max(250_000, (height * height * 16 * 2.8) / 9)));
}

/** How a track is sent: one size or three. */
export function encodings(track) {
  if (track.kind === "audio") return [{ maxBitrate: 48_000 }];
  const top = videoBitrate(track.mediaStreamTrack.getSettings().height);
  if (!track._simulcast) return [{ maxBitrate: top }];
  return [
    { rid: "l", scaleResolutionDownBy: 4, maxBitrate: Math.max(120_000, Math.round(top / 10)) },
    { rid: "m", scaleResolutionDownBy: 2, maxBitrate: Math.round(top / 3) },
    { rid: "h", scaleResolutionDownBy: 1, maxBitrate: top },
  ];
}

/** A track one publishes; made by {@link Room#publish}. */
export class LocalTrack {
  /** The server's name for it; null until published. @type {?string} */ trackId = null;
  /** @type {"audio"|"video"} */ kind;
  /** @type {string} */ label;
  /** @type {boolean} */ muted;
  /** Which of this device's views it is. @type {number|undefined} */ viewIndex;
  /** How one picture holds several views. @type {object|undefined} */ split;
  /** @type {MediaStreamTrack} */ mediaStreamTrack;
  #room; #queue = new Queue();

  constructor(room, mediaStreamTrack, { label, muted = false, simulcast, viewIndex, split }) {
    this.#room = room;
    this.kind = mediaStreamTrack.kind;
    this.label = label ?? mediaStreamTrack.kind;
    this.muted = muted;
    this.viewIndex = viewIndex;
    this.split = split;
    this._simulcast = this.kind === "video" && (simulcast ?? (mediaStreamTrack.getSettings().height ?? 0) >= 540);
    this._transceiver = null;
    this._refusal = null;
    this.#adopt(mediaStreamTrack);
  }

  /** Mutes here and at the server, which then forwards nothing whatever a client sends. @returns {Promise<void>} */
  mute() {
    return this.#setMuted(true);
  }

  /** @returns {Promise<void>} */
  unmute() {
    return this.#setMuted(false);
  }

  /** Sends another device's track in its place, with no negotiation. @param {MediaStreamTrack} mediaStreamTrack */
  async replace(mediaStreamTrack) {
    await this._send(mediaStreamTrack);
    this.#adopt(mediaStreamTrack);
    emit(this.#room, "localTrackUpdated", { track: this });
  }

  /** Puts it on its line, at the bit rate that suits it. */
  async _send(mediaStreamTrack) {
    const sender = this._transceiver?.sender;
    if (!sender) return;
    await sender.replaceTrack(mediaStreamTrack);
    const parameters = sender.getParameters();
    const wanted = encodings({ kind: this.kind, _simulcast: this._simulcast, mediaStreamTrack });
    parameters.encodings.forEach((encoding, place) => (encoding.maxBitrate = wanted[place]?.maxBitrate));
    await sender.setParameters(parameters).catch(() => {}); // sent all the same, if less well
  }

  /** Its seat is gone: what the server knew of it does not hold any more. */
  _forget() {
    this.trackId = null;
    this._transceiver = null;
  }

  #adopt(mediaStreamTrack) {
    this.mediaStreamTrack = mediaStreamTrack;
    mediaStreamTrack.enabled = !this.muted;
    mediaStreamTrack.addEventListener("ended", () => {
      const isSent = this.mediaStreamTrack === mediaStreamTrack && this.#room.localTracks.has(this);
      if (isSent && !this.#room.closed) emit(this.#room, "localTrackEnded", { track: this });
    });
  }

  #setMuted(muted) {
    this.#show(muted);
    // The newest wish wins: a queued request whose wish was overtaken says what is wanted now.
    return this.#queue.run(async () => {
      if (!this.trackId) return; // the offer carries the flag
      try {
        await this.#room._request(this.muted ? "track.mute" : "track.unmute", { trackId: this.trackId });
      } catch (error) {
        if (error.code === 1007 || error.code === -1) return; // published again with the flag
        if (this.muted === muted && !muted) this.#show(true);
        throw error;
      }
    });
  }

  #show(muted) {
    this.muted = muted;
    this.mediaStreamTrack.enabled = !muted;
    emit(this.#room, "localTrackUpdated", { track: this });
  }
}
