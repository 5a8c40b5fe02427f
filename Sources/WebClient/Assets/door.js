// door.js: waiting at the door of a room until somebody lets one in.
import { RoostError } from "./errors.js";

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
