// here.js: where the page is: one object, and no other, that its modules share, and the drawing of it.
import { isScreen } from "./roost.js";
import { bookmark } from "./page.js";
import { Spotlight } from "./spotlight.js";

export const here = {
  /** @type {?RoostClient} */ client: null,
  /** Reachable for calls, whether in a room or not. */ online: false,
  /** @type {?Room} */ room: null,
  /** Whose room it is. @type {?Call} */ call: null,
  /** From one room or call to the next, or into the first. */ switching: false,
  /** The page goes away, and its place in a call waits. */ going: false,
  /** The call that this tab was in before it was loaded again, until all is as it was. */ returning: bookmark.take(),
  /** Whose tile is large in this room. */ spotlight: new Spotlight(),
  /** Which of the pages of tiles is wanted, from 0. */ page: 0,
  /** How the connection was when it was measured last. @type {?object} */ quality: null,
  /** Media has not come through at all, and not since. */ unreachable: false,
  /** What only calls need, from the time when one first goes online: online.js. @type {?object} */ calls: null,
  /** When each user was last heard of in this call. @type {Map<string, number>} */ changedAt: new Map(),
};

/** For the console, and for tests. */
export const publicState = () => (window.roost = { client: here.client, room: here.room, call: here.call });

/** What one sends of a kind, the screen aside. */
export const own = (kind) => [...here.room.localTracks].find((track) => track.kind === kind && !isScreen(track));

const drawers = [];
let drawing = false;

/** @param {() => void} run shows the room as it is, or a part of it that is loaded later */
export function drawWith(run) {
  drawers.push(run);
}

/** Something changed. Many changes make one drawing, and it comes before the next frame. */
export function render() {
  if (drawing) return;
  drawing = true;
  queueMicrotask(() => {
    drawing = false;
    if (here.room) drawers.forEach((draw) => draw());
  });
}
