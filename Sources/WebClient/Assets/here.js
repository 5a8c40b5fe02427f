// here.js: where the page is: one object, and no other, that its modules share.
import { bookmark } from "./page.js";

export const here = {
  /** @type {?RoostClient} */ client: null,
  /** Reachable for calls, whether in a room or not. */ online: false,
  /** @type {?Room} */ room: null,
  /** Whose room it is. @type {?Call} */ call: null,
  /** From one room or call to the next, or into the first. */ switching: false,
  /** The page goes away, and its place in a call waits. */ going: false,
  /** The call that this tab was in before it was loaded again, until all is as it was. */ returning: bookmark.take(),
};

/** For the console, and for tests. */
export const publicState = () => (window.roost = { client: here.client, room: here.room, call: here.call });

/** What one sends of a kind, the screen aside. */
export const own = (kind) => [...here.room.localTracks].find((track) => track.kind === kind && track.label !== "screen");
