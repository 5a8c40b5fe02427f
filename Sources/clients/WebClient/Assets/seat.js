// seat.js: the tab's seat in a room, remembered over a crash of the tab: who one is there, and the token that proves it.
import { here, own } from "./here.js";
import { $, memoryOfTab } from "./page.js";

const KEY = "seat";

let written = null;
/** What this tab holds for its seat, and how to let go of it. @type {?{id: string, end: () => void}} */
let lock = null;

/**
 * A tab that was duplicated has a copy of what the first remembers, and must not take its seat: so each seat has a lock, which the
 * browser lets go of when the tab that holds it is gone. Where there are no locks, nothing is kept.
 * @returns {Promise<boolean>} whether it is ours now
 */
function hold(id) {
  return new Promise((resolve) => {
    const held = (granted) => {
      const end = granted && new Promise((end) => (lock = { id, end }));
      resolve(Boolean(granted));
      return end;
    };
    if (!navigator.locks) resolve(false);
    else navigator.locks.request(`roost.seat.${id}`, { ifAvailable: true }, held).catch(() => resolve(false));
  });
}

/** The seat that this tab had when it crashed, if nobody has it now. It is had once. */
async function taken() {
  const text = memoryOfTab.get(KEY);
  memoryOfTab.set(KEY, null);
  try {
    const seat = JSON.parse(text);
    return seat?.user && seat.room && (await hold(seat.id)) ? seat : null;
  } catch {
    return null;
  }
}

/** Where to come back to, until that is done. @type {?object} */
let crashed = await taken();

/** @returns {?{id: string, name: string, room: string, user: string, resumeToken: string, online: boolean, video: boolean, muted: boolean}} */
export const crashedIn = () => crashed;

/** It was come back to, or cannot be. */
export const cameBack = () => (crashed = null);

/** A seat was taken: it is remembered as it is from now on, for as long as the tab holds its lock. */
export async function keepSeat() {
  if (!lock && navigator.locks) await hold(crypto.randomUUID());
  noteSeat();
}

/** What changed may have to be remembered. */
export function noteSeat() {
  if (!lock || !here.room || here.call || here.going) return;
  const [video, audio] = [own("video"), own("audio")];
  const text = JSON.stringify({
    id: lock.id, name: $("name").value.trim(), room: here.room.name, user: here.client.user, resumeToken: here.client.session.hello.resumeToken,
    online: here.online, video: Boolean(video && !video.muted), muted: Boolean(audio?.muted),
  });
  if (text !== written) memoryOfTab.set(KEY, (written = text));
}

/** The seat was left, or the page goes away and says so. */
export function forgetSeat() {
  memoryOfTab.set(KEY, (written = null));
  letGo();
}

function letGo() {
  lock?.end();
  lock = null;
}
