// client.js: a person's connection to a server: the room he sits in, the calls he knows.
import { Queue, delay, emit, randomId } from "./basics.js";
import { CallBook } from "./callbook.js";
import { untilSilent, untilTold } from "./door.js";
import { Room } from "./room.js";
import { Session } from "./session.js";

/**
 * A person's connection to a server, and the seat he has (one at a time, in a room or a call).
 *
 * Events: `state` `{state, error?}` with `connecting`, `open`, `reconnecting`, `closed` · `notification`
 * `{method, params}`, every event of the wire as it came · `rejoined` `{room}` after the server had forgotten us ·
 * `incomingCall` `{call, from, inProgress, waiting}` ring · `callCreated` `{call}` another device of ours calls somebody ·
 * `callChanged` `{call}` anything about any call · `callMissed` `{call, why}` · `callRecord` `{record}` for one's list ·
 * `grants` `{grants, room?}` what one may do where one is, at first and whenever that changes · `waiting` `{room}` at the door of a room.
 */
export class RoostClient extends EventTarget {
  /** The room one sits in, if any; a call's room while one is in a call. @type {?Room} */
  room = null;
  #session; #options; #early = null; #seats = new Queue(); #book;
  /** The room to come back to: the server has forgotten our seat in it. */
  #lostSeat = null;

  /**
   * @param {string} url `wss://host/rtc`; see {@link rtcUrl}
   * @param {object} [options] `ClientOptions` of roost.d.ts, each of which may be missing
   */
  constructor(url, options = {}) {
    super();
    const { rtc, ...identity } = options;
    if (!identity.token) identity.user ??= `guest-${randomId()}`; // a token says it
    identity.deviceId ??= `web-${randomId()}`;
    identity.capabilities = { wholeOffers: true, ...identity.capabilities };
    this.#options = { rtc, displayName: identity.displayName };
    this.#session = new Session(url, identity);
    this.#book = new CallBook(this, identity.user ?? "");
    this.#session.isWaiting = () => !this.room && this.#book.all.every((call) => call.isOver);
    this.#session.addEventListener("state", ({ detail }) => this.#onState(detail));
    this.#session.addEventListener("notification", ({ detail }) => this.#onNotification(detail));
    this.#session.addEventListener("resumed", ({ detail }) => this.#onResumed(detail.resync));
    this.#session.addEventListener("grants", ({ detail }) => emit(this, "grants", detail));
    this.#session.addEventListener("restarted", ({ detail }) => this.#onRestarted(detail.hello));
  }

  /** @returns {"idle"|"connecting"|"open"|"reconnecting"|"closed"} */
  get state() {
    return this.#session.state;
  }

  /** Who one is to others; by a token alone one knows it after `connect`. @returns {string} */
  get user() {
    return this.#book.user;
  }

  /** What one's token allows, such as `moderate`; null without one. @returns {?string[]} */
  get grants() {
    return this.#session.grants;
  }

  /** The session below, for requests this SDK has no method for. @returns {Session} */
  get session() {
    return this.#session;
  }

  /**
   * Says hello. Listen for `incomingCall` before: what rings already is told at once.
   * @returns {Promise<object>} the result of `session.hello` @throws {RoostError}
   */
  async connect() {
    const hello = await this.#session.open();
    this.#book.begin(hello);
    return hello;
  }

  /** Any request of the protocol. @param {string} method @param {object} [params] @returns {Promise<object>} */
  request(method, params) {
    return this.#session.request(method, params);
  }

  /**
   * Takes a seat; everybody's tracks are then received unless `autoSubscribe` is false. With `views` only sound is, and video is shown in
   * so many views: `room.openedViews`. With `waits` one waits in the lobby, where there is one, until somebody lets one in; `waiting`
   * tells that it has come to that.
   * @param {string} name
   * @param {object} [options] `JoinOptions` of roost.d.ts, each of which may be missing
   * @returns {Promise<Room>} @throws {RoostError} 2002 when it is full, 2003 when the name is taken, 2008 in a lobby …
   */
  async join(name, { waits = false, ...options } = {}) {
    const since = performance.now();
    const seat = { method: "room.join", params: { displayName: this.#options.displayName, ...options, room: name } };
    for (;;) {
      try {
        return (await this._sit(seat)).room;
      } catch (error) {
        if (waits && (await untilSilent(since, error))) continue;
        if (error.code !== 2008 || !waits) throw error;
        emit(this, "waiting", { room: name });
        await untilTold(this.#session, name, error);
      }
    }
  }

  /** Rooms that are configured or have somebody in them, each as in `roomInfo`. */
  async rooms() {
    const rooms = [];
    for (let after; ;) {
      const page = await this.request("room.list", after === undefined ? {} : { after });
      rooms.push(...page.rooms);
      if (page.next === undefined) return rooms;
      after = page.next;
    }
  }

  /** What a room is like. @param {string} room @returns {Promise<{name: string, kind: string, media: string, limit: number, count: number}>} */
  roomInfo(room) {
    return this.request("room.info", { room });
  }

  // ---- calls

  /**
   * Calls people. One's own seat is taken at once: publish while it rings, and the other sees you as he answers.
   * @param {string[]} to users
   * @param {object} [options] `StartCallOptions` of roost.d.ts, each of which may be missing
   * @returns {Promise<{call: Call, room: Room, busy: string[], unreachable: string[], isGlare: boolean}>} `isGlare`: they were
   *   calling us
   * @throws {RoostError} 3011 when one is in a call, 3012, 3014 …
   */
  async startCall(to, options = {}) {
    const params = { kind: to.length === 1 ? "one_to_one" : "group", media: "video", clientCallId: randomId(), ...options, to };
    const { result, room } = await this._sit({ method: "call.start", params });
    const names = (list) => (list ?? []).map(({ user }) => user);
    return {
      call: this.#book.take(result.call), room,
      busy: names(result.busy), unreachable: names(result.unreachable), isGlare: result.glare ?? false,
    };
  }

  /** A call by its id: from a push message, a record or a list. `refresh()` asks how it stands. @param {string} callId @returns {Call} */
  call(callId) {
    return this.#book.find(callId);
  }

  /** Calls this device knows, those just over included. @returns {Call[]} */
  get calls() {
    return this.#book.all;
  }

  /** The call this user is in, on whatever device. @returns {Promise<?Call>} */
  async currentCall() {
    const { call } = await this.request("call.current");
    return call ? this.#book.take(call) : null;
  }

  /** Running group calls that one was in or invited to, and may join. @returns {Promise<Call[]>} */
  async availableCalls() {
    return (await this.request("call.available")).calls.map((call) => this.#book.take(call));
  }

  /**
   * A page of one's own list of calls, newest first.
   * @param {{before?: string, limit?: number}} [options] `next` of the page before
   * @returns {Promise<{records: object[], next?: string}>}
   */
  callHistory(options = {}) {
    return this.request("call.history", options);
  }

  /**
   * Whether users can be reached now.
   * @param {string[]} users @returns {Promise<{user: string, reachable: boolean, inCall: boolean, devices: number}[]>}
   */
  async presence(users) {
    return (await this.request("user.query", { users })).users;
  }

  /** Calls of this user ring here no more, or again. They are not told. @param {string} user */
  blockUser(user) {
    return this.request("user.block", { user });
  }

  /** @see blockUser */
  unblockUser(user) {
    return this.request("user.unblock", { user });
  }

  /** Whom one has blocked. @returns {Promise<string[]>} */
  async blockedUsers() {
    return (await this.request("user.blocked")).users;
  }

  /** Leaves the room or call, says goodbye and closes. Safe to call at any time, also while a page goes away. */
  close() {
    this.room?._close(null);
    this.#session.close();
  }

  /**
   * Closes without leaving, as a lost connection would: for a page that may be loaded again. A client with the same `user`
   * and `deviceId` and this one's `resumeToken` finds the call as `currentCall()`, and joins it.
   * @returns {{user: string, deviceId: string, resumeToken: string}} what that client needs
   */
  abandon() {
    const { deviceId, resumeToken } = this.#session.hello ?? {};
    this.#session.abandon();
    return { user: this.user, deviceId, resumeToken };
  }

  // ---- for Call and CallBook

  /**
   * Takes a seat with a request that gives one; no two at once. The seat before it is given up by the server in the same
   * step, and stays where the request fails.
   * @returns {Promise<{result: object, room: Room}>}
   */
  _sit(seat) {
    return this.#seats.run(async () => {
      const { result, spare } = await this.#takeSeatAndPrepare(seat);
      const snapshot = snapshotOf(result);
      const isSame = this.room?.name === snapshot.room;
      if (isSame && this.#lostSeat === this.room) this.#cameBack(snapshot);
      else if (isSame && snapshot.self === this.room.selfId) this.room._refresh(snapshot);
      else this.#enter(new Room(this, again(seat, result)), snapshot, spare);
      this.#flushEarly(snapshot);
      return { result, room: this.room };
    });
  }

  /** Who may do something else in a room now asks how it stands: joining the room that one is in tells that. */
  _look(room) {
    this.#seats.run(() => this.#look(room)).catch(() => {}); // refused: it was closed meanwhile
  }

  /** A room that one was moved to is the one to come back to. */
  _moved(room, name) {
    if (room._seat.params.room) room._seat = { ...room._seat, params: { ...room._seat.params, room: name } };
  }

  async #look(room) {
    if (this.room !== room || room.callId || this.#lostSeat) return;
    const { name } = room;
    const snapshot = await this.#takeSeat({ method: "room.join", params: { room: name } });
    if (this.room === room && snapshot.self === room.selfId) {
      room._refresh(snapshot);
      return this.#flushEarly(snapshot);
    }
    // One was put out before the question came, and it took another seat.
    this.#flushEarly({ seq: -1 });
    await this.request("room.leave", { room: name });
    // Or moved before it came, and it gave up the seat there.
    if (this.room !== room || room.name === name) return;
    this.#lostSeat = room;
    await this.#rejoin();
  }

  /** A browser makes a peer connection while the answer is on its way: `spare`, to receive on, where there was no seat before. */
  async #takeSeatAndPrepare(seat) {
    const taken = this.#takeSeat(seat);
    const { hello, state } = this.#session;
    let spare = null;
    try {
      if (!this.room && state === "open") spare = new RTCPeerConnection(this._rtc);
      const result = await taken;
      if (hello === this.#session.hello) return { result, spare };
      spare?.close(); // its ICE servers are those of a session that is over
      return { result, spare: null };
    } catch (error) {
      spare?.close();
      throw error;
    }
  }

  /** How peer connections are made. @returns {RTCConfiguration} */
  get _rtc() {
    return { bundlePolicy: "max-bundle", iceServers: this.#session.hello?.iceServers ?? [], ...this.#options.rtc };
  }

  #enter(room, snapshot, spare) {
    this.#lostSeat = null;
    this.room?._close(null);
    this.room = room;
    room._enter(snapshot, spare);
  }

  #cameBack(snapshot) {
    const { room } = this;
    this.#lostSeat = null;
    room._enter(snapshot);
    this.#flushEarly(snapshot);
    emit(this, "rejoined", { room });
    room._republish(); // takes its time, and no other seat shall wait for it
  }

  async #takeSeat({ method, params }) {
    this.#early = [];
    try {
      return await this.#session.request(method, params);
    } catch (error) {
      this.#flushEarly({ seq: -1 });
      throw error;
    }
  }

  /** What the server said of the room between its answer and our having a `Room`. */
  #flushEarly({ seq: from }) {
    const early = (this.#early ?? []).filter(({ params }) => !(params.seq <= from));
    this.#early = null;
    for (const { method, params } of early) this.room?._handle(method, params);
  }

  #onState(detail) {
    emit(this, "state", detail);
    if (detail.state === "closed") this.room?._close(detail.error);
  }

  #onNotification(detail) {
    if (this.#early) this.#early.push(detail);
    else this.room?._handle(detail.method, detail.params);
    this.#book.handle(detail.method, detail.params);
    emit(this, "notification", detail);
    if (detail.method === "session.grants" && this.room) this._look(this.room);
  }

  #onResumed(resync) {
    if (resync) this.#book.resync(resync);
    // Without its seat a room is not told of the new socket: it has to be entered first, should that have been given up.
    if (this.#lostSeat) this.#seats.run(() => this.#rejoin());
    else this.room?._resumed(resync);
  }

  #onRestarted(hello) {
    this.#book.begin(hello);
    this.#lostSeat = this.room;
    this.#seats.run(() => this.#rejoin());
  }

  /** One at a time, and as often as a session begins or is resumed without the seat: a socket lost meanwhile ends it. */
  async #rejoin() {
    const room = this.#lostSeat;
    if (room !== this.room) this.#lostSeat = null; // left meanwhile, or another one is entered
    if (!this.#lostSeat) return;
    for (let attempt = 0; this.room === room && this.state === "open"; attempt++) {
      try {
        const snapshot = snapshotOf(await this.#takeSeat(room._seat));
        if (this.room !== room) return;
        return this.#cameBack(snapshot);
      } catch (error) {
        // 2003 and 2004: our own old seat may still be in its grace.
        const retry = error.retryable || ((error.code === 2003 || error.code === 2004) && attempt < 8);
        if (error.code === 1007 || error.code === -3) return;
        if (!retry) return room._close(error);
        await delay(error.data.retryAfterMs ?? 2000);
      }
    }
  }
}

/** `room.join` answers with the room, requests for calls with `{call, room}`. */
function snapshotOf(result) {
  return result.call ? result.room : result;
}

/** How to come back to a seat after the server had forgotten us. */
function again({ method, params }, { call }) {
  if (!call) {
    // The seat is one's own by now; whose it was before is nothing to say twice.
    const { takeover, resumeToken, ...rest } = params;
    return { method, params: rest };
  }
  const { media, metadata, autoSubscribe } = params;
  return { method: "call.join", params: { callId: call.callId, media, metadata, autoSubscribe } };
}
