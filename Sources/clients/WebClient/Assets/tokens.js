// tokens.js: the tokens that a client shows to a server with keys, and a fresh one in time. Loaded where a client has a token.
// What a token says is read here; whether it is good only the server can tell.

/** So long before a token is over the next one is asked for, milliseconds; of a short life when a third is left. */
const EARLY_MS = 60_000;
/** What fails is tried again after so long. The server takes a token for 60 s after its end. */
const AGAIN_MS = 5_000;
/** No token is good for longer, and timers take no more than 24 days. */
const DAY_MS = 86_400_000;

/** Made by {@link Session}. */
export class Tokens {
  #session; #source; #claims = {}; #timer = null; #wanted = 0;

  /** @param {Session} session @param {string|function(): string|Promise<string>} source */
  constructor(session, source) {
    this.#session = session;
    this.#source = source;
  }

  /** What a hello says of who one is. @returns {Promise<{token: string, user?: string}>} @throws what the application's function throws */
  async hello() {
    const token = await this.#ask();
    this.#claims = claimsOf(token);
    return { token, user: this.#claims.sub ?? "unknown" }; // what is no token the server shall say
  }

  /** A token was shown beside those of the application's function. */
  shown(token) {
    if (typeof this.#source === "string") this.#source = token;
    this.#claims = claimsOf(token);
    this.keep();
  }

  /** The server has taken it: the next one is shown in time, for as long as the session is there. */
  keep() {
    this.stop();
    const { grants, room, exp } = this.#claims;
    this.#session._allow({ grants: Array.isArray(grants) ? grants : [], room });
    if (typeof this.#source === "string" || !Number.isFinite(exp)) return;
    const left = exp * 1000 - this.#session.serverNow;
    this.#wait(left - Math.min(EARLY_MS, left / 3));
  }

  stop() {
    this.#wanted += 1;
    clearTimeout(this.#timer);
  }

  #wait(ms) {
    this.#timer = setTimeout(() => this.#renew(this.#wanted), Math.min(Math.max(ms, AGAIN_MS), DAY_MS));
  }

  async #renew(wanted) {
    try {
      const token = await this.#ask();
      if (wanted === this.#wanted) await this.#session.renewToken(token);
    } catch {
      if (wanted === this.#wanted) this.#wait(0);
    }
  }

  async #ask() {
    return typeof this.#source === "string" ? this.#source : this.#source();
  }
}

/** The claims of a token (RFC 7519); none of what is no token. */
function claimsOf(token) {
  try {
    const [, body] = token.split(".");
    const bytes = Uint8Array.from(atob(body.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
    return Object(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return {};
  }
}
