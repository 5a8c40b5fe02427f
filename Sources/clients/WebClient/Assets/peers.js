// peers.js: the two peer connections of a seat: one to send on, one to receive on.
import { Queue, delay, emit } from "./basics.js";
import { RoostError } from "./errors.js";
import { definitionsOf, encodings } from "./tracks.js";

/** What both have in common: states told to the room, and ICE restarts where nothing arrives. */
class Connection {
  /** After a restart it is looked again whether anything arrives. */
  static againMs = 4000;

  queue = new Queue();
  #pc = null; #configuration; #timer = null; #isSilent = false; #isClosed = false;

  constructor(room, which, configuration) {
    this.room = room;
    this.which = which;
    this.#configuration = configuration;
  }

  /** Made where it is first needed, which takes a browser some time: who only receives waits for no second one. */
  get pc() {
    if (this.#pc) return this.#pc;
    if (this.closed) throw new RoostError(1007);
    return this.take(new RTCPeerConnection(this.#configuration));
  }

  take(pc) {
    this.#pc = pc;
    pc.onconnectionstatechange = () => this.#changed();
    return pc;
  }

  /** One that has agreed on nothing yet is given up for another: Chromium finds no path by one whose first offer was taken back. */
  renew() {
    if (!this.#pc || this.#pc.currentRemoteDescription) return;
    this.#drop();
    this.#pc = null;
  }

  #drop() {
    if (!this.#pc) return;
    this.#pc.onconnectionstatechange = null;
    this.#pc.close();
  }

  /** @returns {RTCPeerConnectionState} */
  get state() {
    return this.#isClosed ? "closed" : this.#pc?.connectionState ?? "new";
  }

  /** Whether it serves its room no more. */
  get closed() {
    return this.#isSilent || this.#isClosed;
  }

  /** Nothing is sent, seen or heard from here on, and nothing is told. */
  fallSilent() {
    this.#isSilent = true;
    clearTimeout(this.#timer);
    if (!this.#pc) return;
    this.#pc.onconnectionstatechange = null;
    for (const sender of this.#pc.getSenders()) sender.replaceTrack(null).catch(() => {});
    for (const { track } of this.#pc.getReceivers()) track.enabled = false;
  }

  close() {
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#isClosed = true;
    this.#drop();
  }

  /** @returns {Promise<?RTCStatsReport>} null where nothing was ever negotiated */
  async stats() {
    return (await this.#pc?.getStats()) ?? null;
  }

  #changed() {
    emit(this.room, "media", { pc: this.which, state: this.state });
    if (this.isBroken) this.room._doubt();
  }

  get isBroken() {
    return ["disconnected", "failed"].includes(this.state);
  }

  /** How much has arrived on all paths, answers to ICE's checks included: a number that only grows while something does. */
  async arrived() {
    let sum = 0;
    if (this.closed) return sum;
    for (const stat of (await this.stats())?.values() ?? []) {
      if (stat.type === "candidate-pair") sum += (stat.bytesReceived ?? 0) + (stat.responsesReceived ?? 0);
    }
    return sum;
  }

  /** Restarts ICE where nothing has arrived since `before`, and something should have. */
  async heal(before) {
    if (this.closed || this.#timer || !(this.isBroken || this.isBusy)) return;
    if ((await this.arrived()) > before || this.closed) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.room._doubt();
    }, Connection.againMs);
    await this.restart().catch((error) => this.warn(error));
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

/** Chromium begins with 300 kbit/s otherwise, in which the best layer of a picture has no place. Others pass over it. */
const sharpAtOnce = (sdp) => sdp.replace(/^a=rtpmap:(\d+) (?:VP8|VP9|H264|AV1)\/90000\r\n/gm, "$&a=fmtp:$1 x-google-start-bitrate=1000\r\n");

/** A description in pieces: what is said for all, then each line. */
const pieces = (sdp) => sdp.split(/(?=^m=)/m);

/** Says more of Opus in one of them. */
function withOpus(piece, more) {
  const [, type] = /^a=rtpmap:(\d+) opus\//im.exec(piece) ?? [];
  return type ? piece.replace(new RegExp(`^a=fmtp:${type} .*`, "m"), `$&;${more}`) : piece;
}

/** An offer of which these lines are music. Browsers have no other way to say it, and send as the answer tells them. */
function withMusic(sdp, lines) {
  const rates = new Map(lines.map(({ _transceiver: { mid }, _wish }) => [mid, _wish.maxBitrate ?? 510_000]));
  return pieces(sdp).map((piece) => {
    const rate = rates.get(/^a=mid:(.*)/m.exec(piece)?.[1]);
    return rate ? withOpus(piece, `stereo=1;sprop-stereo=1;usedtx=0;maxaveragebitrate=${rate}`) : piece;
  }).join("");
}

/** An answer that plays in stereo what is offered so: Chromium mixes it down otherwise. */
function inStereo(sdp, offer) {
  const offered = pieces(offer);
  return pieces(sdp).map((piece, line) => /[ ;]sprop-stereo=1/.test(offered[line]) && !/[ ;]stereo=1/.test(piece) ? withOpus(piece, "stereo=1") : piece).join("");
}

/** The server goes by its own order: where one codec is wished for, no other is offered. None of them means all. */
function codecsOf({ kind, _wish: { codec } }) {
  if (!codec) return [];
  const names = [`video/${codec}`, "video/rtx"];
  const [sent, taken] = [RTCRtpSender, RTCRtpReceiver].map((end) => end.getCapabilities(kind).codecs.filter(({ mimeType }) => names.includes(mimeType)));
  if (sent.length < 2) throw new RoostError(4004);
  return taken; // preferences name what can be received; the offer has of these what can be sent
}

/** The peer connection one sends on: the client offers. */
export class Publisher extends Connection {
  #tracks = new Set(); #waiting = [];

  constructor(room, configuration) {
    super(room, "publish", configuration);
  }

  /** Whether something is sent that the server reports on. */
  get isBusy() {
    return this.state === "connected" && [...this.#tracks].some(({ muted }) => !muted);
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
      this.renew();
      if (batch.length === 1 || this.closed || error.code === 1007 || error.retryable) return batch.forEach(({ reject }) => reject(error));
      // Refused as a whole: one bad track must not keep the others out.
      for (const one of batch) await this.#publish([one]);
      return;
    }
    for (const { track, resolve, reject } of batch) track._refusal ? reject(track._refusal) : resolve();
  }

  /** `isGone`: at the server already. */
  remove(track, isGone = false) {
    return this.queue.run(async () => {
      const { trackId } = track;
      if (!this.#tracks.has(track) || this.closed) return;
      await this.#detach(track);
      try {
        if (trackId && !isGone) await this.room._request("track.unpublish", { trackId });
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
    const [wanted, codecs] = [encodings(track), codecsOf(track)];
    track._layers = wanted.length;
    // Not for music, whose bit rate the line must not have.
    const free = this.pc.getTransceivers().find((transceiver) =>
      !track._wish.music && transceiver.direction === "inactive" && !transceiver.sender.track &&
      transceiver.receiver.track.kind === track.kind && transceiver.sender.getParameters().encodings.length === wanted.length);
    const line = free ?? this.pc.addTransceiver(track.mediaStreamTrack, { direction: "sendonly", sendEncodings: wanted });
    track._transceiver = line;
    line.direction = "sendonly";
    line.setCodecPreferences?.(codecs); // of a line that is free those of the track before it
    if (free) await track._send(track.mediaStreamTrack); // and at its own bit rate
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
    const music = [...this.#tracks].filter(({ kind, _wish }) => kind === "audio" && _wish.music);
    let answer;
    try {
      answer = await room._request("pc.offer", { pc: "publish", sdp: withMusic(pc.localDescription.sdp, music), tracks });
      if (this.closed) return;
      await pc.setRemoteDescription({ type: "answer", sdp: sharpAtOnce(answer.sdp) });
    } catch (error) {
      if (pc.signalingState === "have-local-offer") await pc.setLocalDescription({ type: "rollback" });
      throw error instanceof RoostError ? error : new RoostError(4005, String(error?.message ?? error));
    }
    this.#learn(answer.tracks ?? [], tracks);
    for (const { mid, attribute, error } of answer.declined ?? []) if (!attribute) this.#declined(mid, error, answer.tracks ?? []);
  }

  #announce({ _transceiver, _layers, kind, label, source, muted, viewIndex, split, mediaStreamTrack }) {
    const definitions = definitionsOf(_layers);
    const { height } = mediaStreamTrack.getSettings();
    const heights = (height || undefined) && definitions?.map((_, place) => Math.ceil(height / 2 ** (_layers - 1 - place)));
    return { mid: _transceiver.mid, kind, label, source, muted, viewIndex, split, definitions, heights, pausesLayers: definitions && true };
  }

  /** The rest of the offer was taken, but not this line; or it was, without what clashes in it. */
  #declined(mid, { code, message, data }, taken) {
    const track = [...this.#tracks].find(({ _transceiver }) => _transceiver.mid === mid);
    if (!track) return;
    if (taken.some((line) => line.mid === mid)) return this.warn(new RoostError(code, message, data));
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
      else if (this.room.moderation.held.includes(track.kind)) track._show(true); // what is held begins muted
      emit(this.room, "localTrackUpdated", { track });
    }
  }
}

/** The peer connection one receives on: the server offers, and every offer names all that is sent. */
export class Subscriber extends Connection {
  /** By trackId. @type {Map<string, {subscriptionId: string, mediaStreamTrack: MediaStreamTrack}>} */
  received = new Map();
  #newest = 0; #silence = 0; #watch = setInterval(() => this.#look(), 500);

  constructor(room, configuration, spare) {
    super(room, "subscribe", configuration);
    this.take(spare ?? new RTCPeerConnection(configuration)); // the offer is on its way
  }

  close() {
    clearInterval(this.#watch);
    super.close();
  }

  /** Whether something came within the last ten seconds. */
  get isBusy() {
    return this.state === "connected" && this.#newest > 0;
  }

  /** Sound or pictures that stop all at once are the first sign of a network that is gone: ICE takes seconds longer to find out. */
  #look() {
    const sources = this.pc.getReceivers().flatMap((receiver) => receiver.getSynchronizationSources());
    const newest = Math.max(0, ...sources.map(({ timestamp }) => timestamp));
    this.#silence = newest === this.#newest ? this.#silence + 1 : 0;
    this.#newest = newest;
    if (newest > 0 && this.#silence === 2) this.room._doubt();
  }

  restart() {
    return this.room._request("pc.restart", { pc: "subscribe" });
  }

  offered({ offerId, sdp, tracks, views }) {
    this.queue.run(() => this.#answer(offerId, sdp, tracks ?? [], views ?? [])).catch((error) => this.warn(error));
  }

  async #answer(offerId, sdp, tracks, views) {
    if (this.closed) return;
    const { pc, room } = this;
    await pc.setRemoteDescription({ type: "offer", sdp });
    const answer = await pc.createAnswer();
    await pc.setLocalDescription({ type: "answer", sdp: inStereo(answer.sdp, sdp) });
    this.#bind(tracks, views);
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

  #bind(tracks, views) {
    const byMid = new Map(this.pc.getTransceivers().map((transceiver) => [transceiver.mid, transceiver.receiver]));
    this.received = new Map();
    for (const { mid, trackId, subscriptionId } of tracks) {
      const receiver = byMid.get(mid);
      if (receiver) this.received.set(trackId, { subscriptionId, mediaStreamTrack: receiver.track });
    }
    this.room._bind(this.received);
    this.room._views.bind(new Map(views.map(({ mid, subscriptionId }) => [subscriptionId, byMid.get(mid)?.track])));
  }
}
