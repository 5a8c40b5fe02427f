// session.js: one signalling session over a WebSocket, kept through lost sockets.
import { delay, emit } from "./basics.js";
import { RoostError } from "./errors.js";

/**
 * One signalling session: requests and answers, events in order and once. Most programs use {@link RoostClient}, which holds one.
 *
 * Events: `state` `{state, error?}` · `notification` `{method, params}` · `resumed` `{resync?}` · `restarted` `{hello}`
 * (the server had forgotten the session, and a new one stands) · `grants` `{grants, room?}`.
 */
export class Session extends EventTarget {
  /** Raise it for networks where a round trip takes seconds; a request still unanswered then fails with −2. One to another client has its own time besides. */
  static requestTimeoutMs = 20_000;
  /**
   * After this much silence a ping goes out; one that is unanswered for that long again means that the socket is dead. While
   * `isWaiting` says so, no more often than the server pings such a session.
   */
  static silenceMs = 6_000;
  /** A socket that is in doubt, and says nothing for so long, gets another one beside it. */
  static doubtMs = 800;
  /** For so long our own session, whose hello was never answered, may be in our way; the server finds out in 15 s. */
  static inUseMs = 30_000;

  /** @type {"idle"|"connecting"|"open"|"reconnecting"|"closed"} */
  state = "idle";
  /** The result of the last `session.hello`. @type {?object} */
  hello = null;
  /** What one's token allows; null without one. @type {?string[]} */
  grants = null;
  /** Whether one only waits to be called, so that a lost socket may be found out later. @type {() => boolean} */
  isWaiting = () => false;

  #url; #identity; #socket = null; #nextId = 1; #pending = new Map(); #lastSeq = 0; #heard = 0; #pinged = 0; #pings = 0;
  #watch = null; #wake = null; #resumable = false; #clock = 0; #greeted = 0; #rival = null; #doubt = null; #hurries = false;
  #tokens = null; #allowed = "";
  /** Of a session that is closed: when its socket is, too. */
  _gone = Promise.resolve();
  #online = () => this.check();

  /**
   * @param {string} url `wss://host/rtc`
   * @param {object} identity the params of `session.hello`: `user`, `displayName`, `deviceId`, `capabilities`; `token` is one, or a
   *   function that gives a fresh one. Where `user` is missing it is the token's
   */
  constructor(url, identity) {
    super();
    this.#url = url;
    this.#identity = { ...identity };
  }

  /** The server's time now, in milliseconds since 1970, whatever this machine's clock says. @returns {number} */
  get serverNow() {
    return Date.now() + this.#clock;
  }

  /** Whether a time of the server's is over, by a clock that nobody sets; where it stands still in a sleeping machine, not yet. */
  _isOver(time) {
    return time <= this.hello.serverTime + performance.now() - this.#greeted;
  }

  /** Opens the socket and says hello. @returns {Promise<object>} its result */
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
   * @param {string} method @param {object} [params] @returns {Promise<object>} @throws {RoostError}
   */
  request(method, params = {}) {
    return this.#request(method, params, false);
  }

  /**
   * Finds out whether the server can still be reached. A socket that says nothing is not waited for: another one is opened beside it,
   * and whichever is heard first is used.
   * @returns {Promise<boolean>} true as soon as the server was heard; false where the session is over
   */
  check() {
    if (this.state === "reconnecting") {
      this.#hurries = true;
      if (this.#socket?.readyState === 0) this.#socket.close(); // it was begun on the way of before
      this.#wake?.();
    }
    this.#doubt ??= this.#findOut().finally(() => (this.#doubt = null));
    return this.#doubt;
  }

  /** Shows a further token. @param {string} token @throws {RoostError} 1004 */
  async renewToken(token) {
    await this.request("session.token", { token });
    (await this.#loadTokens(token)).shown(token);
  }

  /** Says goodbye; the server frees the seat at once. */
  close() {
    if (this.state === "closed") return;
    if (this.#socket?.readyState === 1) {
      this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id: this.#nextId++, method: "session.bye", params: {} }));
    }
    this.#end(null);
  }

  /**
   * Closes without a goodbye, for a page that may be loaded again: the next session shows this one's `resumeToken` and `deviceId`.
   */
  abandon() {
    this.#end(null, 4000);
  }

  /** Cuts the socket as a broken network would. For tests. */
  dropSocket() {
    this.#lost(this.#socket);
  }

  #request(method, params, immediate) {
    if (this.state === "closed" || (this.state === "idle" && !immediate)) return Promise.reject(new RoostError(-3));
    const id = this.#nextId++;
    const text = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    // That nobody has answered a question is for the server to say.
    const patience = Session.requestTimeoutMs + (method === "message.request" ? params.timeoutMs ?? 10_000 : 0);
    return new Promise((resolve, reject) => {
      const waiting = { text, immediate, resolve, reject, timer: null };
      // The server cannot answer while the socket is down; that time does not count.
      const tick = () => {
        if (immediate || this.state === "open") this.#settle(id, new RoostError(-2, method));
        else waiting.timer = setTimeout(tick, patience);
      };
      waiting.timer = setTimeout(tick, patience);
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
    const tokens = this.#identity.token || this.#tokens ? await this.#loadTokens(this.#identity.token) : null;
    const { token, user } = (await tokens?.hello()) ?? {};
    if (!this.#socket) throw new RoostError(this.state === "closed" ? -3 : -1); // gone while the application made a token
    this.#lastSeq = 0;
    if (!tokens && this.#allowed) {
      // A new session has all, and hears what it has less than that.
      (this.grants = null), (this.#allowed = "");
      emit(this, "grants", { grants: null });
    }
    this.hello = await this.#request("session.hello", { ...this.#identity, user: this.#identity.user ?? user, token, resumeToken, ...(this.state === "reconnecting" && { takeover: true }) }, true);
    [this.#clock, this.#greeted] = [this.hello.serverTime - Date.now(), performance.now()];
    this.#resumable = true;
    tokens?.keep();
  }

  /** Whoever has no token loads nothing for it. */
  #loadTokens(first) {
    return (this.#tokens ??= import("./tokens.js").then(({ Tokens }) => new Tokens(this, first)));
  }

  /** What a token says that it allows, and then what the server says. */
  _allow({ grants, room }) {
    const before = this.#allowed;
    this.grants = grants;
    this.#allowed = `${[...grants].sort()} ${room}`;
    if (before !== this.#allowed) emit(this, "grants", { grants, room });
  }

  async #findOut() {
    const since = performance.now();
    const isHeard = () => this.state === "open" && this.#heard >= since;
    if (this.state === "open") this.#ping();
    for (let pause = Session.doubtMs; !isHeard(); pause = 250) {
      if (this.state === "closed" || this.state === "idle") return false;
      // As soon as something is heard, and no later than after the pause.
      for (let waited = 0; waited < pause && !isHeard(); waited += 50) await delay(50);
      if (this.state === "open" && !isHeard()) await this.#openRival(isHeard);
    }
    return true;
  }

  /** Another socket beside the one that is in doubt, which takes its place where it is open before anything is heard of that one. */
  async #openRival(isHeard) {
    const old = this.#socket;
    await this.#openSocket({ patienceMs: 3000, isRival: true }).catch(() => {});
    const rival = this.#rival;
    this.#rival = null;
    if (rival?.readyState !== 1 || isHeard() || this.state !== "open" || old !== this.#socket) return rival?.close();
    this.#lost(old, 0, rival);
    await new Promise((resolve) => this.addEventListener("state", resolve, { once: true }));
  }

  /** `isRival`: it is not used before something is known of the one that is. */
  #openSocket({ patienceMs = 10_000, isRival = false } = {}) {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(this.#url);
      if (isRival) this.#rival = socket;
      else this.#socket = socket;
      const late = setTimeout(() => socket.close(), patienceMs);
      socket.onopen = () => {
        clearTimeout(late);
        if (!isRival) this.#hear();
        resolve();
      };
      socket.onmessage = (message) => {
        if (socket !== this.#socket) return;
        this.#hear();
        this.#receive(message.data);
      };
      socket.onclose = () => {
        clearTimeout(late);
        // Whoever waits for this socket learns of it, also where it was closed from here.
        reject(new RoostError(this.state === "closed" ? -3 : -1));
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
    if (method === "session.grants") this._allow(params);
    emit(this, "notification", { method, params });
  }

  #closing({ action, reason, retryAfterMs }) {
    if (action === "stop") return this.#end(new RoostError(-3, reason, { reason }));
    if (action === "reconnect") this.#resumable = false;
    this.#lost(this.#socket, retryAfterMs);
  }

  #hear() {
    this.#heard = performance.now();
    this.#pings = 0;
  }

  /** Every second; of a hidden page once a minute, and not at all while the machine sleeps. */
  #lookAfterSocket() {
    if (this.state !== "open") return;
    const waited = performance.now() - (this.#pings ? this.#pinged : this.#heard);
    // A ping that is out is waited for as ever.
    const pace = !this.#pings && this.isWaiting() ? (this.hello.limits.idlePingMs ?? 0) : 0;
    const silence = Math.max(Session.silenceMs, pace);
    if (waited <= silence) return;
    // Whoever looks late may have slept with the answer in his ear: one more ping.
    const isLate = waited > silence + 3000;
    if (this.#pings > (isLate ? 1 : 0)) return this.#lost(this.#socket);
    this.#ping();
  }

  #ping() {
    this.#pings += 1;
    this.#pinged = performance.now();
    this.#socket?.send(JSON.stringify({ jsonrpc: "2.0", id: this.#nextId++, method: "ping" }));
  }

  /** `next`: a socket that is open already. */
  #lost(socket, retryAfterMs, next = null) {
    if (!socket || socket !== this.#socket) return;
    this.#socket = null;
    // 4000: neither 1000 nor 1001, which would mean that the user left.
    socket.close(4000);
    this.#failPending(new RoostError(-1), (waiting) => waiting.immediate);
    if (this.state !== "open") return;
    this.#setState("reconnecting");
    this.#reconnect(retryAfterMs ?? 0, next);
  }

  async #reconnect(firstDelayMs, ready) {
    let pause = firstDelayMs;
    let inUseSince = null;
    // Began by a hello of ours whose answer was lost: in use until the server notices that nobody is there.
    const isOurs = ({ code, data }) =>
      code === 1005 && data?.reason === "device_in_use" && performance.now() - (inUseSince ??= performance.now()) < Session.inUseMs;
    for (let attempt = 0; this.state === "reconnecting"; attempt++) {
      // No timer for no pause: in a hidden page it takes up to a minute.
      if (pause > 0 && !this.#hurries) await Promise.race([delay(pause), new Promise((resolve) => (this.#wake = resolve))]);
      if (this.state !== "reconnecting") return;
      this.#hurries = false;
      try {
        if (ready?.readyState === 1) this.#socket = ready;
        else await this.#openSocket({ patienceMs: Math.min(3000 + 2000 * attempt, 10_000) }); // on a dead way nothing answers
        ready = null;
        await (this.#resumable ? this.#resume() : this.#restart());
        return;
      } catch (error) {
        if (error.code === 1007) {
          this.#resumable = false;
          pause = 0;
        } else if (error instanceof RoostError && !error.retryable && !isOurs(error)) {
          return this.#end(error);
        } else {
          pause = error.data?.retryAfterMs ?? Math.min(250 * 2 ** attempt, 5000) * (0.7 + 0.6 * Math.random());
        }
        const socket = this.#socket;
        this.#socket = null;
        socket?.close(4000); // as in #lost: what was not answered may stand at the server
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

  #end(error, code = 1000) {
    if (this.state === "closed") return;
    clearInterval(this.#watch);
    this.#tokens?.then((tokens) => tokens.stop(), () => {});
    globalThis.removeEventListener?.("online", this.#online);
    const socket = this.#socket;
    this.#socket = null;
    if (socket) this._gone = new Promise((resolve) => socket.addEventListener("close", resolve, { once: true }));
    this.#rival?.close();
    this.#setState("closed", error);
    this.#failPending(error ?? new RoostError(-3));
    socket?.close(code);
    this.#wake?.();
  }

  #setState(state, error) {
    this.state = state;
    emit(this, "state", { state, error });
  }
}
