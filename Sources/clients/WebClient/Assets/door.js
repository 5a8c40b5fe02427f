// door.js: waiting at the door of a room until somebody lets one in.
import { delay } from "./basics.js";
import { RoostError } from "./errors.js";

/** For so long it is worth asking for the seat of a device that may be gone: two pings of the server, and the time for the answer. */
const PATIENCE_MS = 15_000;

/**
 * Waits where the seat that one wants to take over may be free soon: its device has to be silent for 5 s.
 * @param {number} since when one began to ask @param {RoostError} refusal @returns {Promise<boolean>} whether to ask again
 */
export async function untilSilent(since, { code, retryable, data }) {
  if (code !== 1005 || data.reason !== "resume_token" || !retryable || performance.now() - since > PATIENCE_MS) return false;
  await delay(data.retryAfterMs ?? 2000);
  return true;
}

/**
 * Waits until it is worth asking again: moderators have said something of the door, the server has forgotten who waits, or the time has
 * come that it named.
 * @param {Session} session @param {string} room @param {RoostError} refusal 2008 @throws {RoostError} −3 where the session ends
 */
export function untilTold(session, room, { data: { retryAfterMs } }) {
  return new Promise((resolve, reject) => {
    const listening = new AbortController();
    const timer = retryAfterMs ? setTimeout(() => end(resolve), retryAfterMs) : null;
    const end = (settle, error) => {
      clearTimeout(timer);
      listening.abort();
      settle(error);
    };
    const on = (type, listener) => session.addEventListener(type, ({ detail }) => listener(detail), { signal: listening.signal });
    on("notification", ({ method, params }) => method === "room.moderated" && params.room === room && end(resolve));
    on("restarted", () => end(resolve));
    on("state", ({ state, error }) => state === "closed" && end(reject, error ?? new RoostError(-3)));
  });
}
