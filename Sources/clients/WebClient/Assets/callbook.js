// callbook.js: the calls a client knows: the latest snapshot of each, kept up to date by events, right again after a gap.
import { emit } from "./basics.js";
import { Call, changes, put } from "./call.js";

/** Calls kept after their end; raise it and a long session remembers more. */
const ENDED_CALLS = 32;

/** What one's own ring has become, by the reason it stopped for. */
const STOPPED = {
  answered_by_other: "answered_by_other", rejected_elsewhere: "declined", rejected: "declined", no_answer: "no_answer",
  answered_elsewhere: null, replaced: null,
};

/** Whether one was in the call that a record tells of: it did not only ring. */
const wasIn = ({ direction, result }) => direction === "out" || result === "answered" || result === "failed";

export class CallBook {
  #client; #calls = new Map(); #ended = [];

  constructor(client, user) {
    this.#client = client;
    this.user = user;
  }

  get all() {
    return [...this.#calls.values()];
  }

  find(callId) {
    if (!this.#calls.has(callId)) this.#calls.set(callId, new Call(this.#client, this, callId));
    return this.#calls.get(callId);
  }

  /** What the server said in `session.hello`. What it does not mention has gone on without us. */
  begin({ user, ringing = [], current }) {
    this.user = user ?? this.user;
    this.#settle(new Set([...ringing, ...(current ? [current] : [])].map(({ callId }) => callId)));
    if (current) this.take(current);
    for (const call of ringing) this.#ring({ call });
  }

  /** Too many events were missed: what one is in and what rings is told, so ask about the rest. */
  resync({ call, current, ringing = [] }) {
    const told = [call, current].filter(Boolean);
    this.#settle(new Set([...told, ...ringing].map(({ callId }) => callId)));
    for (const one of told) this.take(one);
    for (const one of ringing) this.#ring({ call: one });
  }

  #settle(told) {
    for (const call of this.all) if (call.state && !call.isOver && !told.has(call.callId)) this.#ask(call);
  }

  async #ask(call) {
    try {
      await call.refresh();
    } catch (error) {
      // 3001: so long over that nobody knows; 3007 and 1005: not ours any more.
      if (error.code > 0) this.#finish(call, { reason: "call_ended", code: 6016 });
    }
  }

  /** A snapshot is all there is to know at its `rev`. */
  take(wire) {
    const call = this.find(wire.callId);
    if (wire.rev < call.rev) return call;
    const { members, room, remainingMs, ...facts } = wire;
    const wasOver = call.isOver;
    Object.assign(call, { reason: null, by: null, startedAt: null, endedAt: null, expiresAt: null, extra: undefined, mediaRequest: null }, facts);
    if (remainingMs !== undefined) call.expiresAt = this.#client.session.serverNow + remainingMs;
    const before = call.members;
    call.members = new Map(members.map((member) => [member.user, Object.assign(before.get(member.user) ?? {}, { reason: undefined, role: undefined }, member)]));
    if (call.isRinging && !call.ringing.includes(call.self)) call.isRinging = false;
    this.#revive(call);
    if (call.isOver && !wasOver) this.#finish(call, { reason: call.reason, by: call.by, durationMs: call.durationMs });
    this.#changed(call);
    return call;
  }

  /** This device has answered, declined or been told to be silent. */
  silence(call) {
    if (!call.isRinging) return;
    call.isRinging = false;
    this.#changed(call);
  }

  /** A change of media is asked for no more. */
  dropRequest(call) {
    call.mediaRequest = null;
    this.#changed(call);
  }

  handle(method, params) {
    if (CallBook.#handlers[method]) return CallBook.#handlers[method](this, params);
    if (method.startsWith("call.") || method.startsWith("member.")) this.#change(method, params);
  }

  static #handlers = {
    "call.created": (book, { call }) => emit(book.#client, "callCreated", { call: book.take(call) }),
    "call.incoming": (book, params) => book.#ring(params),
    "call.missed": (book, { call, why }) => emit(book.#client, "callMissed", { call: book.take(call), why }),
    "call.record": (book, { record }) => book.#close(record),
    "call.stopped": (book, params) => book.#stop(params),
    "call.ended": (book, params) => book.#end(params),
  };

  #ring({ call: wire, from, inProgress, waiting = false }) {
    const call = this.take(wire);
    if (call.isOver) return;
    const isNew = !call.isRinging;
    call.isRinging = true;
    call.from = from ?? call.self?.invitedBy ?? call.caller;
    call.inProgress = inProgress ?? (call.kind === "group" && call.joined.length > 1);
    call.waiting = waiting;
    this.#client.request("call.ringing", { callId: call.callId }).catch(() => {}); // over before we could say it
    if (isNew) emit(this.#client, "incomingCall", { call, from: call.from, inProgress: call.inProgress, waiting });
    this.#changed(call);
  }

  #change(method, params) {
    const call = this.#calls.get(params.callId);
    if (!call || params.rev < call.rev) return;
    call.rev = params.rev;
    if (params.member) {
      put(call, { reason: undefined, role: undefined, ...params.member, text: params.text });
      emit(call, "member", { what: method.slice("member.".length), ...params, member: call.members.get(params.member.user) });
    } else {
      changes[method]?.(call, params);
      this.#revive(call);
      emit(call, method.slice("call.".length), params);
    }
    this.#changed(call);
  }

  #stop(params) {
    const call = this.#calls.get(params.callId);
    if (!call) return;
    call.isRinging = false;
    if (params.rev >= call.rev) {
      call.rev = params.rev;
      const state = params.reason in STOPPED ? STOPPED[params.reason] : "cancelled";
      if (state && call.self) Object.assign(call.self, { state, reason: params.reason });
    }
    emit(call, "stopped", params);
    this.#changed(call);
  }

  #end(params) {
    const call = this.#calls.get(params.callId);
    if (!call || call.isOver) return;
    call.rev = Math.max(call.rev, params.rev);
    call.endedAt = params.record?.endedAt ?? params.serverTime ?? this.#client.session.serverNow;
    this.#finish(call, params);
    this.#changed(call);
  }

  /** Our part is over, on whatever device. A call between two is over with it, unless an invitee rings; a group runs on. */
  #close(record) {
    const call = this.#calls.get(record.callId);
    if (call?.state && !call.isOver) {
      const isOfTwo = call.kind !== "group" && record.kind !== "group";
      if (isOfTwo && !["left", "lost"].includes(call.self?.state)) {
        call.endedAt = record.endedAt;
        this.#finish(call, { reason: record.reason, durationMs: record.durationMs, record });
        this.#changed(call);
      } else if ([...call.joined, ...call.ringing].includes(call.self)) {
        this.#ask(call); // it ended on another device, which alone was told how
      }
    }
    if (wasIn(record)) for (const ring of this.all) if (ring.waiting) this.#waitNoMore(ring);
    emit(this.#client, "callRecord", { record });
  }

  /** One is in no call any more, on whatever device. */
  #waitNoMore(ring) {
    ring.waiting = false;
    this.#changed(ring);
  }

  /** A call that was over for us is not any more: we are asked anew, or it became a group. */
  #revive(call) {
    if (!call.isOver) this.#ended = this.#ended.filter((callId) => callId !== call.callId);
  }

  #finish(call, params) {
    Object.assign(call, { state: "ended", isRinging: false, mediaRequest: null, expiresAt: null });
    Object.assign(call, { reason: params.reason, by: params.by ?? null, text: params.text ?? null });
    const { room } = call;
    emit(call, "ended", params);
    room?._close(null);
    this.#retire(call.callId);
  }

  #retire(callId) {
    if (this.#ended.includes(callId)) return;
    this.#ended.push(callId);
    if (this.#ended.length > ENDED_CALLS) this.#calls.delete(this.#ended.shift());
  }

  #changed(call) {
    emit(call, "changed");
    emit(this.#client, "callChanged", { call });
  }
}
