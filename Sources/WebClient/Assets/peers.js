// peers.js: the two peer connections of a seat: one to send on, one to receive on.
import { Queue, delay, emit } from "./basics.js";
import { RoostError } from "./errors.js";
import { definitionsOf, encodings } from "./tracks.js";

/** What both have in common: states told to the room, and a timer before an ICE restart. */
class Connection {
  /** How long ICE may be disconnected before a restart: a short loss heals by itself. */
  static patienceMs = 2500;
  /** Between two restarts. */
  static againMs = 6000;

  queue = new Queue();
  #timer = null;

  constructor(room, which, configuration) {
    this.room = room;
    this.which = which;
    this.pc = new RTCPeerConnection(configuration);
    this.pc.onconnectionstatechange = () => this.#changed();
  }

  get closed() {
    return this.pc.signalingState === "closed";
  }

  close() {
    clearTimeout(this.#timer);
    this.pc.onconnectionstatechange = null;
    this.pc.close();
  }

  /** After a resume: the address may have changed, so do not wait for ICE to find out. */
  recover() {
    if (!this.closed && ["disconnected", "failed"].includes(this.pc.connectionState)) this.#schedule(0);
  }

  #changed() {
    const state = this.pc.connectionState;
    emit(this.room, "media", { pc: this.which, state });
    clearTimeout(this.#timer);
    this.#timer = null;
    if (state === "failed") this.#schedule(0);
    if (state === "disconnected") this.#schedule(Connection.patienceMs);
  }

  #schedule(ms) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(async () => {
      if (this.closed || this.pc.connectionState === "connected") return;
      await this.restart().catch((error) => this.warn(error));
      if (!this.closed) this.#schedule(Connection.againMs);
    }, ms);
  }

  /**
   * Tries again what is refused for now, for as long as this connection is there. Not 4006: that is for good, whatever it says.
   * @throws {RoostError} what is refused for good; 1007 when this connection is closed meanwhile
   */
  async insist(job) {
    for (let attempt = 0; ; attempt++) {
      try {
        return await job();
      } catch (error) {
        if (this.closed) throw new RoostError(1007);
        if (!error.retryable || error.code === 4006) throw error;
        if (attempt === 0) this.warn(error);
        await delay(Math.max(error.data.retryAfterMs ?? Math.min(500 * 2 ** attempt, 8000), 100));
        if (this.closed) throw new RoostError(1007);
      }
    }
  }

  warn(error) {
    const ours = error instanceof RoostError ? error : new RoostError(4005, String(error?.message ?? error));
    if (!this.closed && ours.code !== 1007) emit(this.room, "warning", { error: ours });
  }
}

/** The peer connection one sends on: the client offers. */
export class Publisher extends Connection {
  #tracks = new Set(); #waiting = [];

  constructor(room, configuration) {
    super(room, "publish", configuration);
  }

  /** Tracks added in one go make one offer. */
  add(track) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ track, resolve, reject });
      this.queue.run(() => this.#publish(this.#waiting.splice(0)));
    });
  }

  async #publish(batch) {
    if (batch.length === 0) return;
    try {
      for (const { track } of batch) {
        await this.#attach(track);
        this.#tracks.add(track);
      }
      await this.#negotiate();
    } catch (error) {
      for (const { track } of batch) await this.#detach(track);
      if (batch.length === 1 || this.closed || error.code === 1007 || error.retryable) return batch.forEach(({ reject }) => reject(error));
      // Refused as a whole: one bad track must not keep the others out.
      for (const one of batch) await this.#publish([one]);
      return;
    }
    for (const { track, resolve, reject } of batch) track._refusal ? reject(track._refusal) : resolve();
  }

  remove(track) {
    return this.queue.run(async () => {
      const { trackId } = track;
      if (!this.#tracks.has(track) || this.closed) return;
      await this.#detach(track);
      try {
        if (trackId) await this.room._request("track.unpublish", { trackId });
      } finally {
        await this.#negotiate();
      }
    });
  }

  restart() {
    return this.queue.run(async () => {
      if (this.closed || this.#tracks.size === 0) return;
      this.pc.restartIce();
      await this.#negotiate();
    });
  }

  /** A free line of the same kind and shape is used again, so that the description does not grow for ever. */
  async #attach(track) {
    track._refusal = null;
    const wanted = encodings(track);
    track._layers = wanted.length;
    const free = this.pc.getTransceivers().find((transceiver) =>
      transceiver.direction === "inactive" && !transceiver.sender.track &&
      transceiver.receiver.track.kind === track.kind && transceiver.sender.getParameters().encodings.length === wanted.length);
    if (free) {
      track._transceiver = free;
      free.direction = "sendonly";
      return track._send(track.mediaStreamTrack); // at its own bit rate, not that of the track before it
    }
    track._transceiver = this.pc.addTransceiver(track.mediaStreamTrack, { direction: "sendonly", sendEncodings: wanted });
  }

  /** Lines that were never agreed on are kept as well: Chromium takes stopped ones for lines of the next offer, of another kind perhaps. */
  async #detach(track) {
    this.#tracks.delete(track);
    const transceiver = track._transceiver;
    track._forget();
    if (!transceiver || this.closed) return;
    transceiver.direction = "inactive";
    await transceiver.sender.replaceTrack(null).catch(() => {});
  }

  async #negotiate() {
    if (this.closed) return;
    const { pc, room } = this;
    await pc.setLocalDescription(await pc.createOffer());
    const tracks = [...this.#tracks].map((track) => this.#announce(track));
    let answer;
    try {
      answer = await room._request("pc.offer", { pc: "publish", sdp: pc.localDescription.sdp, tracks });
      if (this.closed) return;
      await pc.setRemoteDescription({ type: "answer", sdp: answer.sdp });
    } catch (error) {
      if (pc.signalingState === "have-local-offer") await pc.setLocalDescription({ type: "rollback" });
      throw error instanceof RoostError ? error : new RoostError(4005, String(error?.message ?? error));
    }
    this.#learn(answer.tracks ?? [], tracks);
    for (const { mid, error } of answer.declined ?? []) this.#declined(mid, error);
  }

  #announce({ _transceiver, _layers, kind, label, source, muted, viewIndex, split, mediaStreamTrack }) {
    const definitions = definitionsOf(_layers);
    const { height } = mediaStreamTrack.getSettings();
    const heights = (height || undefined) && definitions?.map((_, place) => Math.ceil(height / 2 ** (_layers - 1 - place)));
    return { mid: _transceiver.mid, kind, label, source, muted, viewIndex, split, definitions, heights };
  }

  /** The rest of the offer was taken, but not this line. */
  #declined(mid, { code, message, data }) {
    const track = [...this.#tracks].find(({ _transceiver }) => _transceiver.mid === mid);
    if (!track) return;
    this.#detach(track);
    track._refusal = new RoostError(code, message, data);
  }

  #learn(answered, offered) {
    for (const { mid, trackId } of answered) {
      const track = [...this.#tracks].find(({ _transceiver }) => _transceiver.mid === mid);
      if (!track) continue;
      track.trackId = trackId;
      const said = offered.find((offer) => offer.mid === mid)?.muted;
      // Muted or unmuted while the offer was on its way.
      if (said !== track.muted) (track.muted ? track.mute() : track.unmute()).catch((error) => this.warn(error));
      emit(this.room, "localTrackUpdated", { track });
    }
  }
}

/** The peer connection one receives on: the server offers, and every offer names all that is sent. */
export class Subscriber extends Connection {
  /** By trackId. @type {Map<string, {subscriptionId: string, mediaStreamTrack: MediaStreamTrack}>} */
  received = new Map();

  constructor(room, configuration) {
    super(room, "subscribe", configuration);
  }

  restart() {
    return this.room._request("pc.restart", { pc: "subscribe" });
  }

  offered({ offerId, sdp, tracks }) {
    this.queue.run(() => this.#answer(offerId, sdp, tracks ?? [])).catch((error) => this.warn(error));
  }

  async #answer(offerId, sdp, tracks) {
    if (this.closed) return;
    const { pc, room } = this;
    await pc.setRemoteDescription({ type: "offer", sdp });
    await pc.setLocalDescription(await pc.createAnswer());
    this.#bind(tracks);
    // Until the server has an answer it makes no other offer.
    await this.insist(() => room._request("pc.answer", { offerId, sdp: pc.localDescription.sdp })).catch((error) => {
      if (error.code !== 3003) throw error; // one that seemed lost was taken
    });
  }

  /** Two lines carry each other's track from now on. After the offers that came before: each of them tells what was so then. */
  swap(a, b) {
    return this.queue.run(() => this.#swap(a, b));
  }

  #swap(a, b) {
    const of = (id) => [...this.received].find(([, { subscriptionId }]) => subscriptionId === id) ?? [];
    const [[trackA, lineA], [trackB, lineB]] = [of(a), of(b)];
    if (!lineA || !lineB) return;
    this.received.set(trackA, lineB).set(trackB, lineA);
    this.room._bind(this.received);
  }

  #bind(tracks) {
    const byMid = new Map(this.pc.getTransceivers().map((transceiver) => [transceiver.mid, transceiver.receiver]));
    this.received = new Map();
    for (const { mid, trackId, subscriptionId } of tracks) {
      const receiver = byMid.get(mid);
      if (receiver) this.received.set(trackId, { subscriptionId, mediaStreamTrack: receiver.track });
    }
    this.room._bind(this.received);
  }
}
