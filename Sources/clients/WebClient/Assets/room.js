// room.js: a room one sits in, joined by name or belonging to a call.
import { delay, emit, randomId } from "./basics.js";
import { RoostError } from "./errors.js";
import { afterKnock, afterModerated, isHeld, moderationOf } from "./moderation.js";
import { LocalTrack } from "./tracks.js";
import { Publisher, Subscriber } from "./peers.js";
import { QualityMeter } from "./quality.js";
import { Views } from "./views.js";

/** Chat messages kept; raise it and a long evening takes more memory. */
const CHAT_KEPT = 1000;
/** For so long nothing may arrive before another way is looked for. */
const LOOK_MS = 600;
/** How long connections stay at most for the server to hear that one leaves; nothing is sent on them meanwhile. */
const LEAVING_MS = 3000;
const GOES_ON = { paused: false, tooSlow: false, missing: null };
/** What a pause is: the line's, the publisher's of whom nothing comes, or the room's. */
const pauseOf = ({ reason, step }) => ({ paused: true, tooSlow: reason === "bandwidth", missing: reason === "no_media" ? step ?? "nothing" : null });

/** A room one sits in. Made by {@link RoostClient#join}, and for each call one is in. Its events, `Track` and `Participant` are in roost.d.ts. */
export class Room extends EventTarget {
  /** @type {string} */ name = "";
  /** @type {string} */ kind = "";
  /** `audio` or `video`. @type {string} */ media = "video";
  /** Seats. @type {number} */ limit = 0;
  /** One's own participantId. @type {string} */ selfId = "";
  /** Everybody, oneself included. @type {Map<string, Participant>} */ participants = new Map();
  /** The history as the room allows, then what came: the last thousand. @type {object[]} */ chat = [];
  /** What one publishes. @type {Set<LocalTrack>} */ localTracks = new Set();
  /** One's own ways as the server last told of them, see `room.quality` in the protocol. @type {?object} */ own = null;
  /** What moderators have made of it: `Moderation` of roost.d.ts. @type {object} */ moderation = moderationOf();
  /** @type {boolean} */ closed = false;

  #client; #publisher = null; #subscriber = null; #meter = new QualityMeter(); #telling = null;
  #ending = {}; #amount = null; #doubt = null; #network = () => this._doubt();

  constructor(client, seat) {
    super();
    /** Its views, and what the server says of them. */
    this._views = new Views(this);
    this.#client = client;
    /** The request that brings one back to it. */
    this._seat = seat;
    globalThis.addEventListener?.("online", this.#network);
    globalThis.navigator?.connection?.addEventListener?.("change", this.#network);
  }

  /** The call it belongs to; null for a room that is joined by name. @returns {?string} */
  get callId() {
    return this.name.startsWith("call:") ? this.name.slice(5) : null;
  }

  /** Oneself. @returns {?Participant} */
  get self() {
    return this.participants.get(this.selfId) ?? null;
  }

  /**
   * Publishes a track.
   * @param {MediaStreamTrack} mediaStreamTrack
   * @param {object} [options] `PublishOptions` of roost.d.ts, each of which may be missing
   * @returns {Promise<LocalTrack>} @throws {RoostError} 3016, 4003, 4004, 4005
   */
  async publish(mediaStreamTrack, options = {}) {
    const track = new LocalTrack(this, mediaStreamTrack, options);
    this.localTracks.add(track);
    emit(this, "localTrackUpdated", { track });
    try {
      await this.#publisher.add(track);
    } catch (error) {
      // 1007: the session was lost meanwhile, and what stands in `localTracks` is published by the next one.
      if (error.code !== 1007 || this.closed) {
        this.localTracks.delete(track);
        emit(this, "localTrackUpdated", { track });
        throw error;
      }
    }
    return track;
  }

  /** Takes a track back. Its device is left on. @param {LocalTrack} track */
  async unpublish(track) {
    if (!this.localTracks.delete(track)) return;
    await this.#publisher.remove(track);
  }

  /**
   * Sends a chat message; it then stands in `chat` too.
   * @param {string} text @param {{to?: string[]}} [options] `to`: users it is for; everybody when missing
   * @returns {Promise<{msgId: string, ts: number, delivered: number, stored: boolean}>}
   */
  async sendChat(text, { to } = {}) {
    const params = { room: this.name, text, ...(to?.length ? { to } : {}) };
    const result = await this.#client.request("chat.send", { ...params, clientMsgId: randomId() });
    // The server tells the others alone.
    this.#message({ ...params, msgId: result.msgId, ts: result.ts, from: this.#client.user, displayName: this.self?.displayName });
    return result;
  }

  /**
   * Sends a custom message: others hear `message`. Nobody keeps it. `dtmf` is the topic of tones.
   * @param {string} topic what it is about @param {*} data any JSON of at most 8 KiB but null
   * @param {{to?: string[]}} [options] `to`: users it is for; everybody else when missing
   * @returns {Promise<{delivered: number}>}
   */
  send(topic, data, { to } = {}) {
    return this.#client.request("message.send", { room: this.name, topic, data, ...(to?.length ? { to } : {}) });
  }

  /**
   * Asks somebody, who hears `question`, and waits for the answer.
   * @param {string} user @param {string} topic @param {*} data @param {{timeoutMs?: number}} [options] 1,000 to 60,000; 10,000 when missing
   * @returns {Promise<*>} the answer
   * @throws {RoostError} 1012 where there was none, with `data.reason` `timeout` or `left`; 3008 for who is not there
   */
  async ask(user, topic, data, options = {}) {
    return (await this.#client.request("message.request", { room: this.name, to: user, topic, data, ...options })).data;
  }

  /** Older messages. @param {{before?: string, limit?: number}} [options] */
  async history(options = {}) {
    return (await this.#client.request("chat.history", { room: this.name, ...options })).messages ?? [];
  }

  /**
   * Does what moderators may: `room.moderate("mute", { user: "ben", hold: true })`, and without a user to all.
   * @param {string} action @param {object} [options] what it takes, as `room.moderate` of the protocol has it
   * @throws {RoostError} 1005 for who may not, 3008 for who is not there
   */
  async moderate(action, options = {}) {
    await this.#client.request("room.moderate", { ...options, room: this.name, action });
  }

  /** Whether somebody may not unmute; moderators know it. @param {string} user @param {"audio"|"video"} kind */
  isHeld(user, kind) {
    return this.#participant(user)?.role !== "moderator" && isHeld(this.moderation.holds, user, kind);
  }

  /** Raises one's hand, or lowers it. @param {boolean} [raised] @throws {RoostError} 1006 when too often */
  async raiseHand(raised = true) {
    await this.#client.request("room.raiseHand", { room: this.name, raised });
    const { self } = this;
    if (self) this.#changeHand(self, raised ? self.handRaisedAt ?? this.#client.session.serverNow : undefined);
  }

  /**
   * Receives a track by hand, where the room was joined with `autoSubscribe: false`; `trackStarted` tells when it is there.
   * @param {string} trackId
   * @param {{definition?: "low"|"standard"|"high"|"auto", view?: number, priority?: number}} [options] `view`: which of one's own
   *   places it is for
   * @returns {Promise<{subscriptionId: string}>} @throws {RoostError} 4001, 4003, 4007
   */
  subscribe(trackId, options = {}) {
    return this.#client.request("track.subscribe", { trackId, ...options });
  }

  /** Stops receiving; the track then costs no bandwidth. @param {string} subscriptionId */
  unsubscribe(subscriptionId) {
    return this.#client.request("track.unsubscribe", { subscriptionId });
  }

  /**
   * Changes what is wished of a subscription, without negotiation.
   * @param {string} subscriptionId
   * @param {{definition?: string, paused?: boolean, priority?: number, maxHeight?: number}} changes
   */
  async update(subscriptionId, changes) {
    await this.#client.request("track.update", { subscriptionId, ...changes });
    if (changes.paused !== undefined) this.#updateSubscription({ subscriptionId }, { paused: changes.paused });
  }

  /**
   * Says how high a picture is shown, so that no more is sent than can be seen.
   * @param {Track|View} track @param {number} height in pixels of the device; 0 while nobody sees it, which then costs nothing
   */
  shown(track, height) {
    track._height = Math.min(Math.ceil(height / 16) * 16, 16384);
    this.#tellHeights();
  }

  /**
   * How much one wants to be sent of all that one receives, on a thin or dear line: everything, the smallest pictures, or sound alone.
   * Nobody else notices.
   * @param {"all"|"low"|"sound"} amount
   */
  receive(amount) {
    this.#amount = amount;
    this.#tellHeights();
  }

  /**
   * Lets two subscriptions of one kind exchange what they carry, with no negotiation. The tracks keep their `subscriptionId`s
   * crosswise, and each tells `trackStarted` anew.
   * @param {string} a @param {string} b subscriptionIds @throws {RoostError} 4002, 3003 while one is being negotiated
   */
  async swap(a, b) {
    await this.#client.request("subscription.swap", { a, b });
    await this.#subscriber?.swap(a, b);
  }

  /** Views that are open, in the order of opening. @returns {View[]} */
  get openedViews() {
    return [...this._views.all];
  }

  /**
   * Opens views: places whose video the server exchanges without negotiation. They show nothing yet.
   * @param {number} count @returns {Promise<View[]>} @throws {RoostError} 3016 in a room without video, 4003 beyond 49
   */
  openViews(count) {
    return this._views.open(count);
  }

  /**
   * Lets several views show something else, all at once: to turn a page, or to let two exchange their tracks.
   * @param {[View, ?Track|"activeSpeaker"][]} changes @throws {RoostError} 4001, 4002, 1006 when too often
   */
  show(changes) {
    return this._views.show(changes);
  }

  /**
   * The views of somebody's device: their video tracks that have a `viewIndex`, and the parts of those that carry `split`, as
   * far as it can be read.
   * @param {Participant} participant
   * @returns {{index: number, track: Track, part: ?{x: number, y: number, w: number, h: number}}[]} by index; `part` in
   *   fractions of the picture
   */
  views(participant) {
    const videos = [...participant.tracks.values()].filter(({ kind }) => kind === "video");
    const whole = videos.filter(({ viewIndex, split }) => viewIndex !== undefined && !Array.isArray(split?.views));
    const parts = videos.flatMap((track) => partsOf(track.split).map(({ index, ...part }) => ({ index, track, part })));
    return [...whole.map((track) => ({ index: track.viewIndex, track, part: null })), ...parts].sort((a, b) => a.index - b.index);
  }

  /** Statistics of both peer connections. @returns {Promise<{publish: ?RTCStatsReport, subscribe: ?RTCStatsReport}>} */
  async stats() {
    const [publish, subscribe] = await Promise.all([this.#publisher?.stats(), this.#subscriber?.stats()]);
    return { publish: publish ?? null, subscribe: subscribe ?? null };
  }

  /**
   * How the connection is, in plain words, since the last time this was asked: ask every few seconds.
   * @returns {Promise<{level: "good"|"fair"|"poor"|"unknown", why: string, lossIn: number, lossOut: number, rttMs: number,
   *   frozenMs: number}>} losses as fractions
   */
  async quality() {
    return this.#meter.read(await this.stats(), Object.values(this.mediaStates));
  }

  /** The peer connections' states. @returns {{publish: string, subscribe: string}} */
  get mediaStates() {
    return { publish: this.#publisher?.state, subscribe: this.#subscriber?.state };
  }

  /** Leaves; in a call that is to hang up. */
  async leave() {
    if (this.closed) return;
    await this._closeAfter(this.#client.request("room.leave", { room: this.name })).catch(() => {});
  }

  // What follows is for RoostClient and the peer connections below.
  _request(method, params) {
    return this.#client.request(method, params);
  }

  /** Takes a seat with fresh peer connections: the first time, and after the server had forgotten us. `spare`: one that is made already. */
  _enter(snapshot, spare) {
    this.#publisher?.close();
    this.#subscriber?.close();
    this.#publisher = new Publisher(this, this.#client._rtc);
    this.#subscriber = new Subscriber(this, this.#client._rtc, spare);
    for (const track of this.localTracks) track._forget();
    this.participants.clear();
    this.#apply(snapshot);
    this._views.renew(snapshot.views ?? []).catch((error) => this.#publisher.warn(error));
  }

  /** The same seat, told anew. */
  _refresh(snapshot) {
    this.#apply(snapshot);
  }

  /** A call or a room changed between audio and video. */
  _setMedia(media, limit = this.limit) {
    [this.media, this.limit] = [media, limit];
    emit(this, "refreshed");
  }

  /** One was moved to another room. What one publishes goes on, unless all has to be connected anew. */
  #switched({ from, snapshot, reconnect }) {
    if (from !== this.name) return;
    this.#client._moved(this, snapshot.room);
    [this.chat, this.own] = [[], null];
    if (reconnect) {
      this._enter(snapshot);
      this._republish();
    } else {
      this.participants.clear();
      this.#apply(snapshot);
      // Those that the other room does not take. What is being published has no name yet.
      for (const track of this.localTracks) if (track.trackId && !this.self.tracks.has(track.trackId)) this.#stopped(track);
    }
    for (const { trackId, muted } of this.self?.tracks.values() ?? []) if (muted) this.#own(trackId)?._show(true);
    emit(this, "switched", { from });
  }

  async _republish() {
    const publisher = this.#publisher;
    const again = (track) => publisher.insist(() => this.localTracks.has(track) && publisher.add(track));
    const refused = (track, error) => {
      if (this.closed || error.code === 1007 || !this.localTracks.delete(track)) return; // 1007: the next session does it
      for (const type of ["localTrackRefused", "localTrackUpdated"]) emit(this, type, { track, error });
      emit(this, "warning", { error });
    };
    await Promise.all([...this.localTracks].map((track) => again(track).catch((error) => refused(track, error))));
  }

  _resumed(resync) {
    if (resync && !resync.room) return this._close(new RoostError(1007));
    const snapshot = resync?.room;
    const isOther = snapshot && (snapshot.room !== this.name || snapshot.self !== this.selfId);
    if (isOther) return this.#switched({ from: this.name, snapshot, reconnect: snapshot.self !== this.selfId }); // the event is lost
    if (snapshot) this.#apply(snapshot);
    this._doubt(); // the address may have changed
  }

  /** Something may have happened to the network. Where the server is there and no media comes, ICE looks for another way at once. */
  _doubt() {
    if (this.closed) return;
    this.#doubt ??= this.#settleDoubt().finally(() => (this.#doubt = null));
  }

  async #settleDoubt() {
    const connections = [this.#publisher, this.#subscriber];
    const isReachable = this.#client.session.check();
    // Twice: statistics are those of some moments ago, and what came just before the network went is no sign of life.
    for (let round = 0; round < 2; round++) {
      const before = await Promise.all(connections.map((connection) => connection.arrived()));
      await Promise.all([isReachable, delay(LOOK_MS)]);
      await Promise.all(connections.map((connection, index) => connection.heal(before[index])));
    }
  }

  /**
   * Closes while `request` tells the server that one leaves. The connections stay until that is heard: one that closes before looks lost.
   */
  _closeAfter(request) {
    this._close(null, this.#client.state === "open" ? this.#untilHeard(request) : null);
    return request;
  }

  /**
   * Until the server has answered, or for a while where it refuses or says nothing. No answer comes to a client that is closed: when its
   * socket is, the server has read all that was sent.
   */
  #untilHeard(request) {
    const client = this.#client;
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(late);
        client.removeEventListener("state", look);
        resolve();
      };
      const look = () => client.state === "closed" && client.session._gone.then(end);
      const late = setTimeout(end, LEAVING_MS);
      client.addEventListener("state", look);
      request.then(end, () => {});
    });
  }

  /** `left`: until then the connections stay, and are silent. */
  _close(error, left = null) {
    if (this.closed) return;
    this.closed = true;
    if (this.#client.room === this) this.#client.room = null;
    globalThis.removeEventListener?.("online", this.#network);
    globalThis.navigator?.connection?.removeEventListener?.("change", this.#network);
    const connections = [this.#publisher, this.#subscriber];
    const close = () => connections.forEach((connection) => connection?.close());
    if (left) {
      connections.forEach((connection) => connection?.fallSilent());
      left.then(close);
    } else close();
    emit(this, "closed", { error });
  }

  _handle(method, params) {
    if (this.closed || (params.room !== undefined && params.room !== this.name)) return;
    if (method === "pc.offer") this.#subscriber.offered(params);
    else Room.#handlers[method]?.(this, params);
  }

  _find(trackId) {
    for (const participant of this.participants.values()) {
      const track = participant.tracks.get(trackId);
      if (track) return { participant, track };
    }
    return null;
  }

  /** Binds what the subscribe connection receives to the tracks of the room: the whole list at each offer. */
  _bind(received) {
    const states = new Map(this.#tracks.map(({ subscriptionId, paused, tooSlow, missing }) => [subscriptionId, { paused, tooSlow, missing }]));
    for (const participant of this.participants.values()) {
      for (const track of participant.tracks.values()) {
        const now = received.get(track.trackId);
        const before = track.mediaStreamTrack;
        track.subscriptionId = now?.subscriptionId ?? null;
        Object.assign(track, states.get(track.subscriptionId)); // that of another track, after a swap
        track.mediaStreamTrack = now?.mediaStreamTrack ?? null;
        if (before && before !== track.mediaStreamTrack) emit(this, "trackStopped", { participant, track });
        if (track.mediaStreamTrack && before !== track.mediaStreamTrack) emit(this, "trackStarted", { participant, track });
      }
    }
    this.#tellHeights(); // of new subscriptions
  }

  get #tracks() {
    return [...this.participants.values()].flatMap(({ tracks }) => [...tracks.values()]);
  }

  /** One after the other, and no faster than a server takes requests: large rooms have many. */
  #tellHeights() {
    this.#telling ??= setTimeout(async () => {
      if (this.closed) return;
      const wished = ({ kind, _height }) => _height >= 0 || (this.#amount && kind !== "audio");
      const news = [...this.#tracks, ...this._views.all].filter((track) => track.subscriptionId && wished(track) && track._told !== this.#heightOf(track));
      for (const track of news) await this.#tellHeight(track);
      this.#telling = null;
      if (news.length) this.#tellHeights(); // of what has changed meanwhile
    }, 250);
  }

  async #tellHeight(track) {
    track._told = this.#heightOf(track);
    const definition = this.#amount ? { definition: this.#amount === "low" ? "low" : "auto" } : {};
    const maxHeight = this.#amount === "sound" ? 0 : track._height ?? 16384;
    await this.update(track.subscriptionId, { maxHeight, ...definition }).catch(({ retryable }) => retryable && (track._told = null));
    await delay(25);
  }

  #heightOf({ subscriptionId, _height }) {
    return `${subscriptionId} ${_height} ${this.#amount}`;
  }

  #apply(snapshot) {
    this.name = snapshot.room;
    this.kind = snapshot.kind;
    this.media = snapshot.media;
    this.limit = snapshot.limit;
    const role = this.self?.role;
    this.selfId = snapshot.self;
    this.moderation = moderationOf(snapshot.moderation);
    const before = this.participants;
    for (const track of this.#tracks) if (track.tooSlow || track.missing) Object.assign(track, GOES_ON); // or it is told anew
    this.participants = new Map();
    for (const wire of snapshot.participants ?? []) this.#place(wire, before.get(wire.participantId));
    const known = new Set(this.chat.map(nameOf));
    this.chat.push(...(snapshot.chat ?? []).filter((message) => !known.has(nameOf(message))));
    this.#rebind();
    emit(this, "refreshed");
    if (before.size && this.self?.role !== role) emit(this, "roleChanged", { participant: this.self });
  }

  /** Puts a participant as the wire tells it into the room, keeping what is received of the tracks. */
  #place(wire, before = this.participants.get(wire.participantId)) {
    const { tracks, ...facts } = wire;
    const participant = Object.assign(before ?? { metadata: {}, tracks: new Map() }, { role: undefined, handRaisedAt: undefined }, facts);
    participant.isSelf = participant.participantId === this.selfId;
    if (tracks) {
      const old = participant.tracks;
      participant.tracks = new Map(tracks.map((track) => [track.trackId, mergeTrack(track, old.get(track.trackId))]));
    }
    this.participants.set(participant.participantId, participant);
    return participant;
  }

  #rebind() {
    if (this.#subscriber) this._bind(this.#subscriber.received);
  }

  #participantEvent(type, { participant: wire }) {
    const before = this.participants.get(wire.participantId);
    const { role, handRaisedAt } = before ?? wire;
    const participant = this.#place(wire);
    this.#rebind();
    emit(this, type, { participant });
    if (participant.role !== role) emit(this, "roleChanged", { participant });
    if (participant.handRaisedAt !== handRaisedAt) emit(this, "handChanged", { participant });
  }

  #participant(name) {
    return [...this.participants.values()].find(({ user }) => user === name) ?? null;
  }

  #changeHand(participant, handRaisedAt) {
    if (participant.handRaisedAt === handRaisedAt) return;
    participant.handRaisedAt = handRaisedAt;
    emit(this, "handChanged", { participant });
  }

  /** Of oneself nobody else tells: what it changes follows from this event. */
  #moderated({ room, seq, serverTime, ...event }) {
    const { action, user } = event;
    const wasMedia = this.media;
    const [moderator, participant, { self }] = [this.#participant(event.by), this.#participant(user), this];
    const isOfOneself = user === undefined || participant === self;
    const { displayName } = participant ?? this.moderation.waiting.find((one) => one.user === user) ?? {};
    this.moderation = afterModerated(this.moderation, event, self);
    if (isOfOneself && ["kick", "ban", "end"].includes(action)) this.#ending = { ...event, who: moderator?.isSelf ? "You" : moderator?.displayName };
    if (action === "media") this._setMedia(event.media, event.limit);
    emit(this, "moderated", { ...event, moderator, participant, displayName, wasMedia });
    if (isOfOneself && action === "lowerHand") this.#changeHand(self, undefined);
    if (isOfOneself && action === "role") this.#client._look(this);
  }

  #knocked({ room, seq, serverTime, ...knock }) {
    this.moderation = afterKnock(this.moderation, knock);
    emit(this, "knock", knock);
  }

  #left({ participantId, reason }) {
    const participant = this.participants.get(participantId);
    if (!participant) return;
    this.participants.delete(participantId);
    emit(this, "participantLeft", { participant, reason });
  }

  #published({ participantId, track: wire }) {
    const participant = this.participants.get(participantId);
    if (!participant) return;
    const track = mergeTrack(wire, participant.tracks.get(wire.trackId));
    participant.tracks.set(track.trackId, track);
    emit(this, "trackPublished", { participant, track });
    this.#rebind();
  }

  /** One's own ends when a moderator stops it, or one may not send it any more. */
  #unpublished({ trackId }) {
    const own = this.#own(trackId);
    if (own) this.#stopped(own);
    const found = this._find(trackId);
    if (!found) return;
    found.participant.tracks.delete(trackId);
    emit(this, "trackUnpublished", found);
  }

  #stopped(track) {
    this.localTracks.delete(track);
    this.#publisher.remove(track, true).catch((error) => this.#publisher.warn(error));
    const error = new RoostError(1005, "", { name: "FORBIDDEN", reason: "stopped" });
    for (const type of ["localTrackRefused", "localTrackUpdated"]) emit(this, type, { track, error });
  }

  #own(trackId) {
    return [...this.localTracks].find((track) => track.trackId === trackId);
  }

  /** `muted` of one's own: by a moderator. */
  #muted({ trackId }, muted) {
    if (muted) this.#own(trackId)?._show(true);
    this.#updateTrack(this._find(trackId), { muted });
  }

  #updateTrack(found, changes) {
    if (!found) return;
    Object.assign(found.track, changes);
    emit(this, "trackUpdated", found);
  }

  #updateSubscription({ subscriptionId }, changes) {
    const view = this._views.find(subscriptionId);
    if (view) Object.assign(view, changes)._tell();
    const track = this.#tracks.find((one) => one.subscriptionId === subscriptionId);
    if (track) this.#updateTrack(this._find(track.trackId), changes);
  }

  #speakers({ speakers }) {
    const known = speakers.map(({ participantId, level }) => ({ participant: this.participants.get(participantId), level }));
    emit(this, "activeSpeakers", { speakers: known.filter(({ participant }) => participant) });
  }

  #quality({ people, own = null }) {
    const told = people.map(({ participantId, level, reason }) => {
      const participant = this.participants.get(participantId);
      if (participant) participant.quality = level === "good" ? undefined : { level, reason };
      return participant;
    });
    if (own) this.own = own;
    emit(this, "quality", { people: told.filter(Boolean), own });
  }

  #message(message) {
    if (this.chat.some((known) => nameOf(known) === nameOf(message))) return;
    this.chat.push(message);
    if (this.chat.length > CHAT_KEPT) this.chat.shift();
    emit(this, "chat", { message });
  }

  static #handlers = {
    "room.participantJoined": (room, params) => room.#participantEvent("participantJoined", params),
    "room.participantUpdated": (room, params) => room.#participantEvent("participantUpdated", params),
    "room.participantReconnecting": (room, params) => room.#participantEvent("participantUpdated", params),
    "room.participantReconnected": (room, params) => room.#participantEvent("participantUpdated", params),
    "room.participantLeft": (room, params) => room.#left(params),
    "room.trackPublished": (room, params) => room.#published(params),
    "room.trackUnpublished": (room, params) => room.#unpublished(params),
    "room.trackMuted": (room, params) => room.#muted(params, true),
    "room.trackUnmuted": (room, params) => room.#muted(params, false),
    "room.activeSpeakers": (room, params) => room.#speakers(params),
    "room.quality": (room, params) => room.#quality(params),
    "room.moderated": (room, params) => room.#moderated(params),
    "room.knock": (room, params) => room.#knocked(params),
    "room.switched": (room, params) => room.#switched(params),
    "room.closed": (room, { reason }) => room._close(new RoostError(2006, reason, { ...room.#ending, reason, name: "ROOM_CLOSED" })),
    "chat.message": (room, params) => room.#message(params),
    "message.received": (room, { callId, from, displayName, topic, data }) => {
      if (callId === undefined || callId === room.callId) emit(room, "message", { from, displayName, topic, data });
    },
    "message.requested": (room, { callId, requestId, from, displayName, topic, data, expiresAt }) => {
      if (room.#client.session._isOver(expiresAt)) return; // told after a resume, and over by now
      const answer = (said) => room.#client.request("message.answer", { requestId, data: said });
      if (callId === undefined || callId === room.callId) emit(room, "question", { requestId, from, displayName, topic, data, expiresAt, answer });
    },
    "subscription.paused": (room, params) => room.#updateSubscription(params, pauseOf(params)),
    "subscription.resumed": (room, params) => room.#updateSubscription(params, GOES_ON),
    "subscription.started": (room, params) => room.#updateSubscription(params, GOES_ON),
    "subscription.ended": (room, params) => room._views.find(params.subscriptionId)?._changed(params),
    "view.changed": (room, params) => room._views.find(params.subscriptionId)?._changed(params),
    "subscription.layer": (room, params) => room.#updateSubscription(params, { layer: params.layer }),
    "track.layers": (room, { trackId, layers }) => room.#own(trackId)?._ask(layers),
    "media.failed": (room, { pc, step, reason }) => emit(room, "warning", { error: new RoostError(4006, reason, { pc, step }) }),
  };
}

/** A server that keeps nothing counts from the start again when it is restarted: the id alone does not name a message. */
const nameOf = ({ msgId, ts, from }) => `${msgId} ${ts} ${from}`;

function partsOf(split) {
  const views = Array.isArray(split?.views) ? split.views : [];
  return views.map((view) => ({ index: view?.index, x: view?.x, y: view?.y, w: view?.w, h: view?.h }))
    .filter((view) => Object.values(view).every(Number.isFinite));
}

function mergeTrack(wire, before) {
  return Object.assign(before ?? { subscriptionId: null, mediaStreamTrack: null, paused: false, label: "" }, wire);
}
