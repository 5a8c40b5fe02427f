// tracks.js: a track that one publishes.
import { Queue, emit } from "./basics.js";

/** A bit rate that suits the picture: roughly 0.1 bit a pixel at 25 frames, within sense. */
function videoBitrate(height = 360) {
  return Math.round(Math.min(3_000_000, Math.max(250_000, (height * height * 16 * 2.8) / 9)));
}

/** How many layers a picture carries: two from 360 lines on, three from 960 × 540. Of more Chromium would drop the best. */
function layersOf({ width, height = 360 }) {
  const wide = width ?? (height * 16) / 9;
  const lines = Math.min(wide, height);
  if (lines >= 540 && wide * height >= 960 * 540) return 3;
  return lines >= 360 ? 2 : 1;
}

/** What layers are called: on the wire, and in the offer. */
const LAYERS = {
  1: { definitions: undefined, rids: [] },
  2: { definitions: ["low", "high"], rids: ["l", "h"] },
  3: { definitions: ["low", "standard", "high"], rids: ["l", "m", "h"] },
};

/** The names that subscribers choose between, lowest first. @param {number} count of layers */
export const definitionsOf = (count) => LAYERS[count].definitions;

/**
 * How a track is sent: in one size, or in as many layers as its picture carries, each of half the lines of the next.
 * @param {LocalTrack} track
 * @param {number} [most] as many layers as its line has
 */
export function encodings({ kind, _simulcast, _wish: { codec, maxBitrate: top, music }, mediaStreamTrack }, most = 3) {
  // Of music as much as the answer says: Chromium goes by this number alone where there is one.
  if (kind === "audio") return [top || !music ? { maxBitrate: top ?? 48_000 } : {}];
  const settings = mediaStreamTrack.getSettings();
  top ??= videoBitrate(settings.height);
  const count = _simulcast ? Math.min(layersOf(settings), most) : 1;
  return [10, 3, 1].slice(-count).map((part, place) => ({
    ...(count > 1 && { rid: LAYERS[count].rids[place], scaleResolutionDownBy: 2 ** (count - 1 - place) }),
    // Chromium makes one stream of all layers otherwise.
    ...(count > 1 && /VP9|AV1/.test(codec) && { scalabilityMode: "L1T3" }),
    maxBitrate: Math.round(top / part),
  }));
}

/** What a track may come from; a label that is one of them says it too. */
const SOURCES = ["camera", "microphone", "screen", "screen_audio"];

/** Whether a track is a shared screen. Clients of before, and others, say so by the label alone. @param {Track|LocalTrack} track */
export const isScreen = ({ kind, label, source }) => kind === "video" && (source ?? label) === "screen";

/** A track one publishes; made by {@link Room#publish}. */
export class LocalTrack {
  /** The server's name for it; null until published. @type {?string} */ trackId = null;
  /** @type {"audio"|"video"} */ kind;
  /** @type {string} */ label;
  /** `camera`, `microphone`, `screen` or `screen_audio`. @type {string|undefined} */ source;
  /** @type {boolean} */ muted;
  /** Which of this device's views it is. @type {number|undefined} */ viewIndex;
  /** How one picture holds several views. @type {object|undefined} */ split;
  /** @type {MediaStreamTrack} */ mediaStreamTrack;
  #room; #queue = new Queue();
  /** The layers that the server asked for; null for all. */
  #asked = null;

  constructor(room, mediaStreamTrack, { label, source, muted = false, simulcast, viewIndex, split, codec, maxBitrate, music }) {
    this.#room = room;
    /** How it is to be sent. @type {{codec?: string, maxBitrate?: number, music?: boolean}} */
    this._wish = { codec, maxBitrate, music };
    this.kind = mediaStreamTrack.kind;
    this.label = label ?? mediaStreamTrack.kind;
    this.source = source ?? SOURCES.find((known) => known === label);
    this.muted = muted;
    this.viewIndex = viewIndex;
    this.split = split;
    this._simulcast = this.kind === "video" && (simulcast ?? (mediaStreamTrack.getSettings().height ?? 0) >= 360);
    this._transceiver = null;
    /** Of its line: a picture of another size in its place may use fewer, and no more. */
    this._layers = 1;
    this._refusal = null;
    this.#adopt(mediaStreamTrack);
  }

  /** Mutes here and at the server, which then forwards nothing whatever a client sends. */
  mute() {
    return this.#setMuted(true);
  }

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
    if (this.#room.closed) return;
    await this._transceiver?.sender.replaceTrack(mediaStreamTrack);
    await this.#tune(mediaStreamTrack);
  }

  /** Somebody needs these layers, counted from 0 for the lowest: the others are not sent. @param {number[]} layers */
  _ask(layers) {
    this.#asked = layers;
    return this.#queue.run(() => this.#tune(this.mediaStreamTrack));
  }

  async #tune(mediaStreamTrack) {
    const sender = this._transceiver?.sender;
    if (!sender) return;
    const parameters = sender.getParameters();
    const layers = parameters.encodings;
    const wanted = encodings({ ...this, mediaStreamTrack }, layers.length);
    layers.forEach((layer, place) => {
      layer.maxBitrate = wanted[place]?.maxBitrate ?? layer.maxBitrate;
      if (layers.length === 1) return;
      // A small picture goes whole on the lowest layers: of too many the browser would drop the best.
      layer.active = place < wanted.length && (this.#asked?.includes(place) ?? true);
      const { scaleResolutionDownBy = 1, scalabilityMode = layer.scalabilityMode } = wanted[place] ?? {};
      Object.assign(layer, { scaleResolutionDownBy, scalabilityMode });
    });
    await sender.setParameters(parameters).catch(() => {}); // sent all the same, if less well
  }

  /** Its seat is gone: what the server knew of it does not hold any more. */
  _forget() {
    this.trackId = null;
    this._transceiver = null;
    this.#asked = null;
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
    this._show(muted);
    // The newest wish wins: a queued request whose wish was overtaken says what is wanted now.
    return this.#queue.run(async () => {
      if (!this.trackId) return; // the offer carries the flag
      try {
        await this.#room._request(this.muted ? "track.mute" : "track.unmute", { trackId: this.trackId });
      } catch (error) {
        if (error.code === 1007 || error.code === -1) return; // published again with the flag
        if (this.muted === muted && !muted) this._show(true);
        throw error;
      }
    });
  }

  /** As it is at the server, where a moderator may mute. */
  _show(muted) {
    this.muted = muted;
    this.mediaStreamTrack.enabled = !muted;
    emit(this.#room, "localTrackUpdated", { track: this });
  }
}
