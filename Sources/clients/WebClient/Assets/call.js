// call.js: one call, with what one can do with it. Media goes through its room, as in a room joined by name.
import { emit } from "./basics.js";

const RINGING = ["inviting", "ringing", "busy_ringing"];
const JOINED = ["connecting", "joined", "reconnecting"];

/**
 * One user of a call.
 * @typedef {object} Member
 * @property {string} user @property {string} [displayName] @property {string} state `inviting`, `ringing`, `busy_ringing`,
 *   `connecting`, `joined`, `reconnecting`, `declined`, `no_answer`, `left`, `lost`, `cancelled`, `busy`, `answered_by_other`,
 *   `unreachable`, `removed`
 * @property {string} [reason] @property {"audio"|"video"} [media] @property {string} [invitedBy] @property {number} [joinedAt]
 * @property {number} [leftAt] @property {string} [text]  what he said as he declined or left
 */

/**
 * A call one has started, that rings here, or that one was ever in. It is kept up to date by events, is the same object for
 * the whole session, and is still there after its end. The commands succeed when what they want is so already: hanging up
 * twice, cancelling a call that is over.
 *
 * Events (all with `detail`): `changed` after anything · `joined` `{room}` one has a seat on this device · `accepted`
 * `{user, media}` · `active` `{startedAt}` · `invited` `{inviter, users}` · `typeChanged` `{from, to}` · `member`
 * `{what, member, by?, text?, push?}`, `what` being `ringing`, `busy`, `declined`, `noAnswer`, `left`, `removed`, `state` ·
 * `mediaChangeRequested` `{by, media}` · `mediaChanged` `{by, media, result}` · `alone` `{endsAt, remainingMs}` · `stopped`
 * `{reason, code, by?, text?}` no more ringing here · `ended` `{reason, code, by?, text?, durationMs, record?}`.
 */
export class Call extends EventTarget {
  /** @type {string} */ callId;
  /** `one_to_one`, `one_to_many`, `group`. @type {string} */ kind = "one_to_one";
  /** @type {"audio"|"video"} */ media = "video";
  /** `ringing`, `connecting`, `active`, `ended`; empty when nothing was ever heard of it: see `refresh`. @type {string} */ state = "";
  /** Grows with each change. @type {number} */ rev = -1;
  /** Who started it. @type {string} */ caller = "";
  /** Everybody it ever had, by user. @type {Map<string, Member>} */ members = new Map();
  /** Whether it rings on this device. @type {boolean} */ isRinging = false;
  /** Others talk already. @type {boolean} */ inProgress = false;
  /** It rings while one is in another call: till that is over. @type {boolean} */ waiting = false;
  /** Who rings us. @type {string} */ from = "";
  /** What the caller sent along. @type {*} */ extra = undefined;
  /** Server times, milliseconds since 1970. @type {?number} */ createdAt = null;
  /** @type {?number} */ startedAt = null;
  /** @type {?number} */ endedAt = null;
  /** When the ring ends. @type {?number} */ expiresAt = null;
  /** Why it ended, by whom, and what he said. @type {?string} */ reason = null;
  /** @type {?string} */ by = null;
  /** @type {?string} */ text = null;
  /** A wish to change between audio and video that waits for an answer, also after a reconnect. @type {?{by: string, media: string}} */ mediaRequest = null;
  #client; #book;

  constructor(client, book, callId) {
    super();
    this.#client = client;
    this.#book = book;
    this.callId = callId;
  }

  /** @returns {?Member} */
  get self() {
    return this.members.get(this.#client.user) ?? null;
  }

  /** Everybody but oneself. @returns {Member[]} */
  get others() {
    return [...this.members.values()].filter(({ user }) => user !== this.#client.user);
  }

  /** Those with a seat. @returns {Member[]} */
  get joined() {
    return [...this.members.values()].filter(({ state }) => JOINED.includes(state));
  }

  /** Those who are being rung. @returns {Member[]} */
  get ringing() {
    return [...this.members.values()].filter(({ state }) => RINGING.includes(state));
  }

  /** Whether one called oneself. @returns {boolean} */
  get isOutgoing() {
    return this.caller === this.#client.user;
  }

  /** @returns {boolean} */
  get isOver() {
    return this.state === "ended";
  }

  /** The room of the call while one is in it on this device: tracks, mute, chat. @returns {?Room} */
  get room() {
    return this.#client.room?.callId === this.callId ? this.#client.room : null;
  }

  /** How long people have talked. @returns {number} milliseconds */
  get durationMs() {
    return this.startedAt === null ? 0 : Math.max(0, (this.endedAt ?? this.#client.session.serverNow) - this.startedAt);
  }

  /** How long it will still ring. @returns {number} milliseconds */
  get remainingMs() {
    return this.expiresAt === null ? 0 : Math.max(0, this.expiresAt - this.#client.session.serverNow);
  }

  /**
   * Answers. One who is in another call, or in a room, leaves it in the same step.
   * @param {{media?: "audio"|"video", push?: *, metadata?: object, autoSubscribe?: boolean}} [options] `audio` to answer a
   *   video call with the voice alone; `metadata` and `autoSubscribe` as in {@link RoostClient#join}
   * @returns {Promise<Room>} @throws {RoostError} with what became of it instead: 3002, 3004, 3005
   */
  accept(options = {}) {
    return this.#enter("call.accept", options);
  }

  /**
   * Declines, on all of one's devices or (`this_device`) here alone.
   * @param {{text?: string, reason?: string, scope?: "everywhere"|"this_device", push?: *}} [options]
   */
  async reject(options = {}) {
    await this.#change("call.reject", options);
    this.#book.silence(this);
  }

  /** Stops ringing here, and tells nobody: it goes on ringing for the caller and on one's other devices. */
  ignore() {
    return this.reject({ scope: "this_device" });
  }

  /** Gives up a call that nobody has answered. Its room closes at once. @param {{push?: *}} [options] */
  async cancel(options = {}) {
    const request = this.#change("call.cancel", options);
    this.room?._closeAfter(request);
    await request;
  }

  /**
   * Hangs up: a call between two ends, a group goes on. Its room closes at once, whatever becomes of the request: nothing is
   * sent or received any more, and a server that has forgotten us is not asked for the seat again.
   * @param {{text?: string, reason?: string, push?: *}} [options]
   */
  async hangup(options = {}) {
    const request = this.#change("call.hangup", options);
    this.room?._closeAfter(request);
    await request;
    this.#book.silence(this);
  }

  /**
   * Rings more people. A call between two becomes a group when the first of them joins; those who talk notice nothing.
   * @param {string[]} users
   * @param {{extra?: *, push?: *, ringTimeoutMs?: number}} [options]
   * @returns {Promise<{invited: string[], busy: string[], failed: {user: string, error: object}[]}>}
   * @throws {RoostError} 3013 when not all of them have a seat: nobody is rung then
   */
  async invite(users, options = {}) {
    const { invited, busy, failed } = await this.#request("call.invite", { ...options, users });
    return { invited, busy: busy.map(({ user }) => user), failed };
  }

  /** Stops ringing people. @param {string[]} users */
  async cancelInvite(users) {
    await this.#request("call.cancelInvite", { users });
  }

  /**
   * Joins a running group, or comes back to it.
   * @param {{media?: "audio"|"video", metadata?: object, autoSubscribe?: boolean}} [options]
   * @returns {Promise<Room>} @throws {RoostError} 3013, 3002, 3007, 2004
   */
  join(options = {}) {
    return this.#enter("call.join", options);
  }

  /**
   * Goes on with the call on this device: takes the seat of another of one's devices.
   * @param {{media?: "audio"|"video", resumeToken?: string, metadata?: object, autoSubscribe?: boolean}} [options] the token of
   *   that device's session, where the server does not authenticate users
   * @returns {Promise<Room>}
   */
  takeOver(options = {}) {
    return this.#enter("call.join", { ...options, takeover: true });
  }

  /**
   * Changes between audio and video. In a call between two the other decides, in a group it is done.
   * @param {"request"|"accept"|"reject"|"cancel"} action @param {"audio"|"video"} [media] with `request`
   */
  async mediaChange(action, media) {
    await this.#request("call.mediaChange", { action, media });
    if (action !== "request") this.#book.dropRequest(this); // what comes of it is told in a moment
  }

  /** Ends it for everybody, where one may. */
  async end() {
    await this.#change("call.end");
  }

  /** Asks the server how the call stands; it knows for a day what became of one that is over. @returns {Promise<Call>} */
  async refresh() {
    await this.#change("call.get");
    return this;
  }

  async #enter(method, options) {
    const { result, room } = await this.#client._sit({ method, params: { ...options, callId: this.callId } });
    this.#book.take(result.call);
    this.#book.silence(this);
    emit(this, "joined", { room });
    return room;
  }

  async #change(method, params) {
    this.#book.take((await this.#request(method, params)).call);
  }

  #request(method, params = {}) {
    return this.#client.request(method, { ...params, callId: this.callId });
  }
}

/** What a change does to a call's members and state; the same words as on the wire. */
export const changes = {
  "call.accepted"(call, { user, media }) {
    put(call, { user, state: "connecting", media, reason: undefined });
    if (call.kind === "group" || call.state !== "ringing") return;
    call.state = "connecting";
    call.expiresAt = null;
    if (call.answerPolicy !== "first_wins") return;
    for (const member of call.ringing) Object.assign(member, { state: "answered_by_other", reason: "answered_by_other" });
  },
  "call.active"(call, { startedAt }) {
    Object.assign(call, { state: "active", startedAt, expiresAt: null });
    for (const member of call.members.values()) {
      if (member.state === "connecting") Object.assign(member, { state: "joined", joinedAt: member.joinedAt ?? startedAt });
    }
  },
  "call.invited"(call, { inviter, users }) {
    for (const user of users) {
      if (![...RINGING, ...JOINED].includes(call.members.get(user)?.state)) put(call, { user, state: "inviting", invitedBy: inviter, text: undefined });
    }
  },
  "call.typeChanged"(call, { to }) {
    Object.assign(call, { kind: to, answerPolicy: "everyone", rejectPolicy: "ignore", busyPolicy: "ring", reason: null, by: null, endedAt: null });
    const caller = call.members.get(call.caller);
    if (JOINED.includes(caller?.state)) caller.role = "host"; // else the server says who is
    // For one who had no part in it any more it was over: a group he may join.
    if (call.state === "connecting" || call.isOver) call.state = "active";
  },
  "call.mediaChangeRequested"(call, { by, media }) {
    call.mediaRequest = { by, media };
  },
  "call.mediaChanged"(call, { media, result }) {
    call.mediaRequest = null;
    if (result !== "accepted") return;
    call.media = media;
    call.room?._setMedia(media);
  },
};

/** Lays facts over a member, or adds him. */
export function put(call, facts) {
  const member = call.members.get(facts.user) ?? {};
  call.members.set(facts.user, Object.assign(member, facts));
  return member;
}
