// roost.js: the JavaScript SDK of Roost. One ES module, no dependency, no build step; protocol in docs/protocol.md.
//
//   import { RoostClient, openMedia } from "./roost.js";
//   const client = new RoostClient("wss://example.org/rtc", { displayName: "Anna" });
//   await client.connect();
//   const room = await client.join("demo");
//   room.addEventListener("trackStarted", ({ detail }) => show(detail.participant, detail.track));
//   const { audio, video } = await openMedia({ audio: true, video: true });
//   await room.publish(audio, { label: "microphone" });
//   await room.publish(video, { label: "camera" });
//
// From then on the client reconnects by itself: it resumes the session where the server still has it (nobody notices),
// and otherwise says hello, joins and publishes again.

// ---- errors

const seats = (d) => (d.limit === undefined ? "" : `: ${d.joined ?? d.count ?? d.limit} of ${d.limit} seats are taken`);

/** Sentences for people by code; a function gets the error's `data`. Codes below zero are the client's own. */
const SENTENCES = {
  "-32700": "The server could not read what this page sent. Please reload the page.",
  "-32600": "The server did not accept what this page sent. Please reload the page.",
  "-32601": "This server does not know how to do that. It may be older than this page.",
  "-32602": (d) => `The server did not accept a value${d.field ? ` (${d.field})` : ""}. Please check what you entered.`,
  1003: "You are not signed in any more. Please join again.",
  1004: "Signing in failed. Please check your name or invitation.",
  1005: "You are not allowed to do that here.",
  1006: (d) => `That was too often in a short time. Please wait ${wait(d, "a moment")} and try again.`,
  1007: "The connection was lost for too long. Please join again.",
  1008: "You joined from another window or device, so this one was disconnected.",
  1009: "This server does not support that.",
  1010: "That is too large to be sent.",
  2001: "There is no room of that name.",
  2002: (d) => `Room is full${seats(d)}.`,
  2003: "Somebody in this room already has that name. Please choose another one. If it was you a moment ago, wait some seconds.",
  2004: "You are already in this room with another device.",
  2005: "You are not in this room.",
  2006: (d) => ({
    lost: "The connection was lost for too long. Please join again.",
    removed: "You were removed from this room.",
    replaced: "You joined from another window or device, so this one was disconnected.",
  })[d.reason] ?? "This room was closed.",
  2007: "This room is locked. Nobody else can join now.",
  3001: "There is no such call.",
  3002: "This call is over.",
  3003: "That is not possible at this moment of the call.",
  3004: "This call was answered elsewhere.",
  3005: "This call was declined on another device.",
  3006: "You are not in this call.",
  3007: "You were not invited to this call.",
  3008: "There is nobody of that name.",
  3011: "You are in a call already.",
  3012: "You cannot call yourself.",
  3013: (d) => `The call is full${seats(d)}.`,
  3014: (d) => `Too many people were invited at once${d.limit ? ` (at most ${d.limit})` : ""}.`,
  3015: "Another change of audio or video is still waiting for an answer.",
  3016: "Only audio is allowed in this room.",
  4001: "This audio or video is not there any more.",
  4002: "This audio or video is not being received.",
  4003: "Too many audio or video tracks at once.",
  4004: "This browser and the server have no audio or video format in common.",
  4005: "Audio or video could not be set up.",
  4006: "Audio and video cannot reach the server. A firewall may block UDP.",
  4007: "This picture quality is not available.",
  5000: "Something went wrong on the server.",
  5001: (d) => `The server is about to restart. Please try again in ${wait(d, "a minute")}.`,
  5002: (d) => `The server is too busy. Please try again in ${wait(d, "a moment")}.`,
  "-1": "The server cannot be reached. Please check your connection.",
  "-2": "The server did not answer in time.",
  "-3": "The server closed the connection.",
  "-4": "The browser was not allowed to use the camera or microphone. Allow it in the address bar and try again.",
  "-5": "No camera or microphone was found.",
  "-6": "The camera or microphone is used by another program.",
  "-7": "Camera and microphone work only on a page with https:// or on this machine itself.",
};

const NAMES = {
  "-1": "UNREACHABLE", "-2": "TIMEOUT", "-3": "CLOSED",
  "-4": "DEVICE_DENIED", "-5": "DEVICE_NOT_FOUND", "-6": "DEVICE_BUSY", "-7": "INSECURE_PAGE",
};

function wait(data, otherwise) {
  const seconds = Math.ceil((data.retryAfterMs ?? 0) / 1000);
  return seconds > 0 ? `${seconds} ${seconds === 1 ? "second" : "seconds"}` : otherwise;
}

/**
 * Everything that goes wrong, as one type.
 * @property {number} code  the protocol's number; below zero (not −326xx) for what happened in the browser
 * @property {string} name  the protocol's name, such as `ROOM_FULL`; or `UNREACHABLE`, `TIMEOUT`, `CLOSED`,
 *   `DEVICE_DENIED`, `DEVICE_NOT_FOUND`, `DEVICE_BUSY`, `INSECURE_PAGE`
 * @property {string} message  a sentence for people
 * @property {string} detail  the server's own words, for logs
 * @property {object} data  the protocol's `data`: `retryable`, `retryAfterMs`, `limit`, `count` …
 */
export class RoostError extends Error {
  /** @param {number} code @param {string} [detail] @param {object} [data] */
  constructor(code, detail = "", data = {}) {
    const sentence = SENTENCES[code];
    super(typeof sentence === "function" ? sentence(data) : sentence ?? (detail || "Something went wrong."));
    this.code = code;
    this.name = data.name ?? NAMES[code] ?? "ERROR";
    this.detail = detail;
    this.data = data;
  }

  /** Whether the same request may succeed a little later. @returns {boolean} */
  get retryable() {
    return this.data.retryable ?? (this.code === -1 || this.code === -2);
  }
}

/** `getUserMedia`'s errors in our words. @param {Error} error @returns {RoostError} */
function deviceError(error) {
  const codes = { NotAllowedError: -4, SecurityError: -4, NotFoundError: -5, OverconstrainedError: -5, NotReadableError: -6, AbortError: -6 };
  return new RoostError(codes[error?.name] ?? -6, String(error?.message ?? error));
}

// ---- session

const emit = (target, type, detail = {}) => target.dispatchEvent(new CustomEvent(type, { detail }));
const delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs asynchronous jobs one after another, so that no two negotiations of one peer connection overlap. */
class Queue {
  #tail = Promise.resolve();

  run(job) {
    const result = this.#tail.then(job);
    this.#tail = result.catch(() => {});
    return result;
  }
}

/**
 * One signalling session: requests and answers, events in order and once, resume after a lost socket.
 * Most programs use {@link RoostClient}, which holds one.
 *
 * Events: `state` `{state, error?}` · `notification` `{method, params}` · `resumed` `{resync?}` · `restarted` `{hello}`
 * (the server had forgotten the session, and a new one stands).
 */
export class Session extends EventTarget {
  /** Raise it for networks where a round trip takes seconds; a request still unanswered then fails with −2. */
  static requestTimeoutMs = 20_000;
  /** After this much silence a ping goes out, and after that much again the socket counts as dead. */
  static silenceMs = 6_000;

  /** @type {"idle"|"connecting"|"open"|"reconnecting"|"closed"} */
  state = "idle";
  /** The result of the last `session.hello`. @type {?object} */
  hello = null;

  #url; #identity; #socket = null; #nextId = 1; #pending = new Map(); #lastSeq = 0; #heard = 0; #watch = null; #wake = null; #resumable = false;
  #online = () => this.#wake?.();

  /**
   * @param {string} url `wss://host/rtc`
   * @param {object} identity the params of `session.hello`: `user`, `displayName`, `deviceId`, `token`, `capabilities`
   */
  constructor(url, identity) {
    super();
    this.#url = url;
    this.#identity = identity;
  }

  /** Opens the socket and says hello. @returns {Promise<object>} the result of `session.hello` */
  async open() {
    this.#setState("connecting");
    try {
      await this.#openSocket();
      await this.#sayHello();
    } catch (error) {
      this.#end(error);
      throw error;
    }
    globalThis.addEventListener?.("online", this.#online);
    this.#watch = setInterval(() => this.#lookAfterSocket(), 1000);
    this.#opened();
    return this.hello;
  }

  /**
   * Sends a request. While the session is reconnecting it waits, and after a resume it is sent again under the same id:
   * the server remembers ids, so that it takes effect once.
   * @param {string} method @param {object} [params] @returns {Promise<object>} the result
   * @throws {RoostError}
   */
  request(method, params = {}) {
    return this.#request(method, params, false);
  }

  /** Says goodbye and closes; the server frees the seat at once. */
  close() {
    if (this.state === "closed") return;
    if (this.#socket?.readyState === 1) {
      this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id: this.#nextId++, method: "session.bye", params: {} }));
    }
    this.#end(null);
  }

  /** Cuts the socket as a broken network would; the session then reconnects. For tests. */
  dropSocket() {
    this.#lost(this.#socket);
  }

  #request(method, params, immediate) {
    if (this.state === "closed" || (this.state === "idle" && !immediate)) return Promise.reject(new RoostError(-3));
    const id = this.#nextId++;
    const text = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    return new Promise((resolve, reject) => {
      const waiting = { text, immediate, resolve, reject, timer: null };
      // The server cannot answer while the socket is down; that time does not count.
      const tick = () => {
        if (immediate || this.state === "open") this.#settle(id, new RoostError(-2, method));
        else waiting.timer = setTimeout(tick, Session.requestTimeoutMs);
      };
      waiting.timer = setTimeout(tick, Session.requestTimeoutMs);
      this.#pending.set(id, waiting);
      if (immediate || this.state === "open") this.#socket?.send(text);
    });
  }

  #settle(id, error, result) {
    const waiting = this.#pending.get(id);
    if (!waiting) return;
    this.#pending.delete(id);
    clearTimeout(waiting.timer);
    if (error) waiting.reject(error);
    else waiting.resolve(result ?? {});
  }

  #failPending(error, which = () => true) {
    for (const [id, waiting] of [...this.#pending]) if (which(waiting)) this.#settle(id, error);
  }

  async #sayHello() {
    // The token lets this session take the place of the one before, should the server still have it.
    const { resumeToken } = this.hello ?? this.#identity;
    this.#lastSeq = 0;
    this.hello = await this.#request("session.hello", { ...this.#identity, resumeToken }, true);
    this.#resumable = true;
  }

  #openSocket() {
    return new Promise((resolve, reject) => {
      const socket = (this.#socket = new WebSocket(this.#url));
      const late = setTimeout(() => socket.close(), 10_000);
      socket.onopen = () => {
        clearTimeout(late);
        this.#heard = performance.now();
        resolve();
      };
      socket.onmessage = (message) => {
        this.#heard = performance.now();
        if (socket === this.#socket) this.#receive(message.data);
      };
      socket.onclose = () => {
        clearTimeout(late);
        reject(new RoostError(-1));
        this.#lost(socket);
      };
    });
  }

  #receive(text) {
    let message;
    try {
      message = JSON.parse(text);
    } catch {
      return;
    }
    if (message.method !== undefined) return this.#notify(message.method, message.params ?? {});
    const { code, message: words, data } = message.error ?? {};
    this.#settle(message.id, message.error ? new RoostError(code, words, data ?? {}) : null, message.result);
  }

  #notify(method, params) {
    if (typeof params.seq === "number") {
      if (params.seq <= this.#lastSeq) return; // replayed by a resume, and seen before
      this.#lastSeq = params.seq;
    }
    if (method === "session.replaced") return this.#end(new RoostError(1008, "", { name: "SESSION_REPLACED" }));
    if (method === "session.closing") return this.#closing(params);
    emit(this, "notification", { method, params });
  }

  #closing({ action, reason, retryAfterMs }) {
    if (action === "stop") return this.#end(new RoostError(-3, reason));
    if (action === "reconnect") this.#resumable = false;
    this.#lost(this.#socket, retryAfterMs);
  }

  #lookAfterSocket() {
    if (this.state !== "open") return;
    const silent = performance.now() - this.#heard;
    if (silent > 2 * Session.silenceMs) this.#lost(this.#socket);
    else if (silent > Session.silenceMs) this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id: this.#nextId++, method: "ping" }));
  }

  #lost(socket, retryAfterMs) {
    if (!socket || socket !== this.#socket) return;
    this.#socket = null;
    socket.onmessage = socket.onclose = null;
    // 4000: neither 1000 nor 1001, which would mean that the user left.
    socket.close(4000);
    this.#failPending(new RoostError(-1), (waiting) => waiting.immediate);
    if (this.state !== "open") return;
    this.#setState("reconnecting");
    this.#reconnect(retryAfterMs ?? 0);
  }

  async #reconnect(firstDelayMs) {
    let pause = firstDelayMs;
    for (let attempt = 0; this.state === "reconnecting"; attempt++) {
      await Promise.race([delay(pause), new Promise((resolve) => (this.#wake = resolve))]);
      if (this.state !== "reconnecting") return;
      try {
        await this.#openSocket();
        await (this.#resumable ? this.#resume() : this.#restart());
        return;
      } catch (error) {
        if (error.code === 1007) {
          this.#resumable = false;
          pause = 0;
        } else if (error instanceof RoostError && !error.retryable) {
          return this.#end(error);
        } else {
          pause = error.data?.retryAfterMs ?? Math.min(250 * 2 ** attempt, 5000) * (0.7 + 0.6 * Math.random());
        }
        const socket = this.#socket;
        this.#socket = null;
        if (socket) {
          socket.onmessage = socket.onclose = null;
          socket.close();
        }
      }
    }
  }

  async #resume() {
    const params = { resumeToken: this.hello.resumeToken, lastSeq: this.#lastSeq };
    const { resync } = await this.#request("session.resume", params, true);
    if (resync?.seq > this.#lastSeq) this.#lastSeq = resync.seq;
    this.#opened(() => emit(this, "resumed", { resync }));
  }

  async #restart() {
    await this.#sayHello();
    this.#failPending(new RoostError(1007));
    this.#setState("open");
    emit(this, "restarted", { hello: this.hello });
  }

  /** Sends what has waited for the session to stand; `first` is told before. */
  #opened(first) {
    this.#setState("open");
    first?.();
    for (const { text } of this.#pending.values()) this.#socket?.send(text);
  }

  #end(error) {
    if (this.state === "closed") return;
    clearInterval(this.#watch);
    globalThis.removeEventListener?.("online", this.#online);
    const socket = this.#socket;
    this.#socket = null;
    this.#setState("closed", error);
    this.#failPending(error ?? new RoostError(-3));
    if (socket) {
      socket.onmessage = socket.onclose = null;
      socket.close(1000);
    }
    this.#wake?.();
  }

  #setState(state, error) {
    this.state = state;
    emit(this, "state", { state, error });
  }
}

// ---- client

/**
 * A person's connection to a server, and the room he sits in (one at a time).
 *
 * Events: `state` `{state, error?}` with `connecting`, `open`, `reconnecting`, `closed` · `notification`
 * `{method, params}`, every event of the wire as it came · `rejoined` `{room}` after the server had forgotten us.
 */
export class RoostClient extends EventTarget {
  /** The room joined, if any. @type {?Room} */
  room = null;
  #session; #options; #early = null;

  /**
   * @param {string} url `wss://host/rtc`; see {@link rtcUrl}
   * @param {object} [options]
   * @param {string} [options.user] who this is; random when missing
   * @param {string} [options.deviceId] @param {string} [options.displayName] @param {string} [options.token]
   * @param {object} [options.capabilities]
   * @param {string} [options.resumeToken] of the session of this user and device that this one is to replace
   * @param {RTCConfiguration} [options.rtc] laid over the configuration of both peer connections
   */
  constructor(url, options = {}) {
    super();
    const { rtc, ...identity } = options;
    identity.user ??= `guest-${randomId()}`;
    identity.deviceId ??= `web-${randomId()}`;
    this.#options = { rtc, displayName: identity.displayName };
    this.#session = new Session(url, identity);
    this.#session.addEventListener("state", ({ detail }) => this.#onState(detail));
    this.#session.addEventListener("notification", ({ detail }) => this.#onNotification(detail));
    this.#session.addEventListener("resumed", ({ detail }) => this.room?._resumed(detail.resync));
    this.#session.addEventListener("restarted", () => this.#rejoin());
  }

  /** @returns {"idle"|"connecting"|"open"|"reconnecting"|"closed"} */
  get state() {
    return this.#session.state;
  }

  /** The session below, for requests this SDK has no method for. @returns {Session} */
  get session() {
    return this.#session;
  }

  /** Connects and says hello. @returns {Promise<object>} the result of `session.hello` @throws {RoostError} */
  connect() {
    return this.#session.open();
  }

  /** Any request of the protocol. @param {string} method @param {object} [params] @returns {Promise<object>} */
  request(method, params) {
    return this.#session.request(method, params);
  }

  /**
   * Takes a seat; everybody's tracks are then received unless `autoSubscribe` is false.
   * @param {string} name
   * @param {{displayName?: string, media?: "audio"|"video", metadata?: object, autoSubscribe?: boolean, takeover?: boolean}} [options]
   * @returns {Promise<Room>} @throws {RoostError} 2002 when it is full, 2003 when the name is taken …
   */
  async join(name, options = {}) {
    const params = { displayName: this.#options.displayName, ...options, room: name };
    const snapshot = await this.#takeSeat(params);
    this.room = new Room(this, params, this.#options.rtc);
    this.room._enter(snapshot);
    this.#flushEarly(snapshot);
    return this.room;
  }

  /** Leaves the room, says goodbye and closes. Safe to call at any time, also while a page goes away. */
  close() {
    this.room?._close(null);
    this.#session.close();
  }

  async #takeSeat(params) {
    this.#early = [];
    try {
      return await this.#session.request("room.join", params);
    } catch (error) {
      this.#early = null;
      throw error;
    }
  }

  /** What the server said of the room between its answer to the join and our having a `Room`. */
  #flushEarly(snapshot) {
    const early = (this.#early ?? []).filter(({ params }) => !(params.seq <= snapshot.seq));
    this.#early = null;
    for (const { method, params } of early) this.room._handle(method, params);
  }

  #onState(detail) {
    emit(this, "state", detail);
    if (detail.state === "closed") this.room?._close(detail.error);
  }

  #onNotification(detail) {
    if (this.#early) this.#early.push(detail);
    else this.room?._handle(detail.method, detail.params);
    emit(this, "notification", detail);
  }

  async #rejoin() {
    const room = this.room;
    if (!room) return;
    for (let attempt = 0; this.room === room && this.state === "open"; attempt++) {
      try {
        const snapshot = await this.#takeSeat(room._joinParams);
        if (this.room !== room) return;
        room._enter(snapshot);
        this.#flushEarly(snapshot);
        emit(this, "rejoined", { room });
        return room._republish();
      } catch (error) {
        // 2003 and 2004: our own old seat may still be in its grace.
        const again = error.retryable || ((error.code === 2003 || error.code === 2004) && attempt < 8);
        if (error.code === 1007 || error.code === -3) return;
        if (!again) return room._close(error);
        await delay(error.data.retryAfterMs ?? 2000);
      }
    }
  }
}

// ---- room

/**
 * A track of somebody in the room.
 * @typedef {object} Track
 * @property {string} trackId @property {"audio"|"video"} kind @property {string} label @property {boolean} muted
 * @property {?string} subscriptionId @property {?MediaStreamTrack} mediaStreamTrack  null until it is received
 * @property {boolean} paused  the server sends nothing for now
 */

/**
 * Somebody in the room.
 * @typedef {object} Participant
 * @property {string} participantId @property {string} user @property {string} displayName @property {string} state
 *   `joined` or `reconnecting`
 * @property {object} metadata @property {Map<string, Track>} tracks @property {boolean} isSelf
 */

/**
 * A room one sits in. Made by {@link RoostClient#join}.
 *
 * Events (all with `detail`): `participantJoined`, `participantUpdated` `{participant}` · `participantLeft`
 * `{participant, reason}` · `trackPublished`, `trackUpdated`, `trackUnpublished` `{participant, track}` · `trackStarted`,
 * `trackStopped` `{participant, track}`, as media is received or not any more · `localTrackUpdated`, `localTrackEnded` `{track}`
 * (device gone) · `activeSpeakers` `{speakers: [{participant, level}]}` · `chat` `{message}` · `media` `{pc, state}` with the
 * peer connection's state · `refreshed` after everything may have changed · `warning` `{error}` · `closed` `{error}`.
 */
export class Room extends EventTarget {
  /** @type {string} */ name = "";
  /** @type {string} */ kind = "";
  /** `audio` or `video`. @type {string} */ media = "video";
  /** Seats. @type {number} */ limit = 0;
  /** One's own participantId. @type {string} */ selfId = "";
  /** Everybody, oneself included. @type {Map<string, Participant>} */ participants = new Map();
  /** The history as the room allows, then what came. @type {object[]} */ chat = [];
  /** What one publishes. @type {Set<LocalTrack>} */ localTracks = new Set();
  /** @type {boolean} */ closed = false;

  #client; #rtc; #publisher = null; #subscriber = null;

  constructor(client, joinParams, rtc) {
    super();
    this.#client = client;
    this.#rtc = rtc;
    this._joinParams = joinParams;
  }

  /** Oneself. @returns {?Participant} */
  get self() {
    return this.participants.get(this.selfId) ?? null;
  }

  /**
   * Publishes a track.
   * @param {MediaStreamTrack} mediaStreamTrack
   * @param {object} [options]
   * @param {string} [options.label] `camera`, `microphone`, `screen` or anything
   * @param {boolean} [options.muted] start muted
   * @param {boolean} [options.simulcast] three layers; by default for a picture of 540 lines or more
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
    const { user, displayName } = this.self ?? {};
    this.#message({ ...params, msgId: result.msgId, ts: result.ts, from: user, displayName });
    return result;
  }

  /** Older messages. @param {{before?: string, limit?: number}} [options] @returns {Promise<object[]>} */
  async history(options = {}) {
    return (await this.#client.request("chat.history", { room: this.name, ...options })).messages ?? [];
  }

  /** Receives a track by hand, where the room was joined with `autoSubscribe: false`. @param {string} trackId @param {object} [options] */
  subscribe(trackId, options = {}) {
    return this.#client.request("track.subscribe", { trackId, ...options });
  }

  /** Stops receiving. @param {string} subscriptionId */
  unsubscribe(subscriptionId) {
    return this.#client.request("track.unsubscribe", { subscriptionId });
  }

  /** Statistics of both peer connections. @returns {Promise<{publish: ?RTCStatsReport, subscribe: ?RTCStatsReport}>} */
  async stats() {
    const [publish, subscribe] = await Promise.all([this.#publisher?.pc.getStats(), this.#subscriber?.pc.getStats()]);
    return { publish: publish ?? null, subscribe: subscribe ?? null };
  }

  /** The peer connections' states. @returns {{publish: string, subscribe: string}} */
  get mediaStates() {
    return { publish: this.#publisher?.pc.connectionState, subscribe: this.#subscriber?.pc.connectionState };
  }

  /** Leaves. @returns {Promise<void>} */
  async leave() {
    if (this.closed) return;
    const done = this.#client.request("room.leave", { room: this.name }).catch(() => {});
    this._close(null);
    await done;
  }

  // What follows is for RoostClient and the peer connections below.

  _request(method, params) {
    return this.#client.request(method, params);
  }

  /** Takes a seat with fresh peer connections: the first time, and after the server had forgotten us. */
  _enter(snapshot) {
    this.#publisher?.close();
    this.#subscriber?.close();
    const configuration = { bundlePolicy: "max-bundle", iceServers: this.#client.session.hello?.iceServers ?? [], ...this.#rtc };
    this.#publisher = new Publisher(this, configuration);
    this.#subscriber = new Subscriber(this, configuration);
    for (const track of this.localTracks) track._forget();
    this.participants.clear();
    this.#apply(snapshot);
  }

  async _republish() {
    const refused = (error) => !this.closed && error.code !== 1007 && emit(this, "warning", { error });
    await Promise.all([...this.localTracks].map((track) => this.#publisher.add(track).catch(refused)));
  }

  _resumed(resync) {
    if (resync && !resync.room) return this._close(new RoostError(1007));
    if (resync) this.#apply(resync.room);
    this.#publisher.recover();
    this.#subscriber.recover();
  }

  _close(error) {
    if (this.closed) return;
    this.closed = true;
    if (this.#client.room === this) this.#client.room = null;
    this.#publisher?.close();
    this.#subscriber?.close();
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
    for (const participant of this.participants.values()) {
      for (const track of participant.tracks.values()) {
        const now = received.get(track.trackId);
        const before = track.mediaStreamTrack;
        track.subscriptionId = now?.subscriptionId ?? null;
        track.mediaStreamTrack = now?.mediaStreamTrack ?? null;
        if (before && before !== track.mediaStreamTrack) emit(this, "trackStopped", { participant, track });
        if (track.mediaStreamTrack && before !== track.mediaStreamTrack) emit(this, "trackStarted", { participant, track });
      }
    }
  }

  #apply(snapshot) {
    this.name = snapshot.room;
    this.kind = snapshot.kind;
    this.media = snapshot.media;
    this.limit = snapshot.limit;
    this.selfId = snapshot.self;
    const before = this.participants;
    this.participants = new Map();
    for (const wire of snapshot.participants ?? []) this.#place(wire, before.get(wire.participantId));
    const known = new Set(this.chat.map((message) => message.msgId));
    this.chat.push(...(snapshot.chat ?? []).filter((message) => !known.has(message.msgId)));
    this.#rebind();
    emit(this, "refreshed");
  }

  /** Puts a participant as the wire tells him into the room, keeping what is received of his tracks. */
  #place(wire, before = this.participants.get(wire.participantId)) {
    const { tracks, ...facts } = wire;
    const participant = Object.assign(before ?? { metadata: {}, tracks: new Map() }, facts);
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
    const participant = this.#place(wire);
    this.#rebind();
    emit(this, type, { participant });
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

  #unpublished({ trackId }) {
    const found = this._find(trackId);
    if (!found) return;
    found.participant.tracks.delete(trackId);
    emit(this, "trackUnpublished", found);
  }

  #updateTrack(found, changes) {
    if (!found) return;
    Object.assign(found.track, changes);
    emit(this, "trackUpdated", found);
  }

  #updateSubscription({ subscriptionId }, changes) {
    for (const participant of this.participants.values()) {
      for (const track of participant.tracks.values()) {
        if (track.subscriptionId === subscriptionId) this.#updateTrack({ participant, track }, changes);
      }
    }
  }

  #speakers({ speakers }) {
    const known = speakers.map(({ participantId, level }) => ({ participant: this.participants.get(participantId), level }));
    emit(this, "activeSpeakers", { speakers: known.filter(({ participant }) => participant) });
  }

  #message(message) {
    if (this.chat.some(({ msgId }) => msgId === message.msgId)) return;
    this.chat.push(message);
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
    "room.trackMuted": (room, { trackId }) => room.#updateTrack(room._find(trackId), { muted: true }),
    "room.trackUnmuted": (room, { trackId }) => room.#updateTrack(room._find(trackId), { muted: false }),
    "room.activeSpeakers": (room, params) => room.#speakers(params),
    "room.closed": (room, { reason }) => room._close(new RoostError(2006, reason, { reason, name: "ROOM_CLOSED" })),
    "chat.message": (room, params) => room.#message(params),
    "subscription.paused": (room, params) => room.#updateSubscription(params, { paused: true }),
    "subscription.resumed": (room, params) => room.#updateSubscription(params, { paused: false }),
    "subscription.started": (room, params) => room.#updateSubscription(params, { paused: false }),
    "subscription.layer": (room, params) => room.#updateSubscription(params, { layer: params.layer }),
    "media.failed": (room, { reason }) => emit(room, "warning", { error: new RoostError(4006, reason) }),
  };
}

function mergeTrack(wire, before) {
  return Object.assign(before ?? { subscriptionId: null, mediaStreamTrack: null, paused: false, label: "" }, wire);
}

// ---- local tracks

/** A track one publishes; made by {@link Room#publish}. */
export class LocalTrack {
  /** The server's name for it; null until published. @type {?string} */ trackId = null;
  /** @type {"audio"|"video"} */ kind;
  /** @type {string} */ label;
  /** @type {boolean} */ muted;
  /** @type {MediaStreamTrack} */ mediaStreamTrack;
  #room; #queue = new Queue();

  constructor(room, mediaStreamTrack, { label, muted = false, simulcast }) {
    this.#room = room;
    this.kind = mediaStreamTrack.kind;
    this.label = label ?? mediaStreamTrack.kind;
    this.muted = muted;
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
    await this._transceiver?.sender.replaceTrack(mediaStreamTrack);
    this.#adopt(mediaStreamTrack);
    emit(this.#room, "localTrackUpdated", { track: this });
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
      if (this.mediaStreamTrack === mediaStreamTrack && !this.#room.closed) emit(this.#room, "localTrackEnded", { track: this });
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

// ---- peer connections

/** A bit rate that suits the picture: roughly 0.1 bit a pixel at 25 frames, within sense. */
function videoBitrate(height = 360) {
  return Math.round(Math.min(3_000_000, Math.max(250_000, (height * height * 16 * 2.8) / 9)));
}

function encodings(track) {
  if (track.kind === "audio") return [{ maxBitrate: 48_000 }];
  const top = videoBitrate(track.mediaStreamTrack.getSettings().height);
  if (!track._simulcast) return [{ maxBitrate: top }];
  return [
    { rid: "l", scaleResolutionDownBy: 4, maxBitrate: Math.max(120_000, Math.round(top / 10)) },
    { rid: "m", scaleResolutionDownBy: 2, maxBitrate: Math.round(top / 3) },
    { rid: "h", scaleResolutionDownBy: 1, maxBitrate: top },
  ];
}

/** What both peer connections have in common: states told to the room, and a timer before an ICE restart. */
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

  warn(error) {
    const ours = error instanceof RoostError ? error : new RoostError(4005, String(error?.message ?? error));
    if (!this.closed && ours.code !== 1007) emit(this.room, "warning", { error: ours });
  }
}

/** The peer connection one sends on: the client offers. */
class Publisher extends Connection {
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
      for (const { track } of batch) this.#detach(track);
      if (batch.length === 1 || this.closed || error.code === 1007) return batch.forEach(({ reject }) => reject(error));
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
      this.#detach(track);
      if (trackId) await this.room._request("track.unpublish", { trackId });
      await this.#negotiate();
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
    const free = this.pc.getTransceivers().find((transceiver) =>
      transceiver.direction === "inactive" && !transceiver.sender.track &&
      transceiver.receiver.track.kind === track.kind && transceiver.sender.getParameters().encodings.length === wanted.length);
    if (free) {
      await free.sender.replaceTrack(track.mediaStreamTrack);
      free.direction = "sendonly";
    }
    track._transceiver = free ?? this.pc.addTransceiver(track.mediaStreamTrack, { direction: "sendonly", sendEncodings: wanted });
  }

  #detach(track) {
    this.#tracks.delete(track);
    const transceiver = track._transceiver;
    track._forget();
    if (!transceiver || this.closed) return;
    if (transceiver.mid === null) return transceiver.stop(); // never agreed on
    transceiver.sender.replaceTrack(null).catch(() => {});
    transceiver.direction = "inactive";
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

  #announce({ _transceiver, _simulcast, kind, label, muted }) {
    return { mid: _transceiver.mid, kind, label, muted, definitions: _simulcast ? ["low", "standard", "high"] : undefined };
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
class Subscriber extends Connection {
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
    const answered = room._request("pc.answer", { offerId, sdp: pc.localDescription.sdp });
    this.#bind(tracks);
    await answered;
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

// ---- devices

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

function randomId() {
  return [...crypto.getRandomValues(new Uint8Array(9))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
