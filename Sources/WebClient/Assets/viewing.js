// viewing.js: what one does about the tiles: keep one large, speaker view or grid, full screen, pages.
import { grid } from "./grid.js";
import { here, render } from "./here.js";
import { isTroubled, announce } from "./page.js";
import { tilesOf } from "./tiles.js";

/** How long a click waits for a second one: that means full screen, and must not move tiles on the way, milliseconds. */
const DOUBLE_MS = 250;

/** The first click of what may be two. */
let first = { key: null, timer: 0, isDone: false };

/** The tiles of the room as it is now. @returns {TileState[]} */
export const tilesNow = () => tilesOf(here.room, { isOffline: isTroubled("session") || isTroubled("media") });

/** @param {MouseEvent} event a click on the grid, also one made by a key */
export function onTileClick(event) {
  const key = event.target.closest(".pin")?.closest(".tile").dataset.key;
  if (event.detail > 1) return onSecondClick(event.detail);
  if (!key) return;
  if (event.detail === 0) return togglePin(key); // Enter or space
  const isFull = Boolean(document.fullscreenElement);
  first = { key, isDone: false, timer: isFull ? 0 : setTimeout(() => {
    first.isDone = true;
    togglePin(key);
  }, DOUBLE_MS) };
}

/** Of two slow clicks the first has moved the tile already: that is taken back. A third click does nothing more. */
function onSecondClick(count) {
  if (count > 2 || !first.key) return;
  clearTimeout(first.timer);
  if (first.isDone) togglePin(first.key);
  fullScreen(first.key);
}

export function fullScreen(key) {
  Promise.resolve(grid.tile(key)?.fullScreen()).catch(() => {}); // not allowed in this frame or browser
}

/** Keeps a tile large, or lets it go. */
export function togglePin(key) {
  if (!here.room) return;
  here.spotlight.togglePin(key);
  here.page = 0;
  const title = tilesNow().find((tile) => tile.key === key)?.title;
  announce(here.spotlight.pinned ? `${title}: large.` : `${title}: not kept large any more.`);
  render();
}

/** One large, or everybody alike. */
export function toggleView() {
  here.spotlight.toggleView(tilesNow(), performance.now());
  here.page = 0;
  announce(here.spotlight.isSpeakerView ? "Speaker view." : "Grid view.");
  render();
}

/** @param {-1|1} by */
export function turnPage(by) {
  const page = grid.page + by;
  if (page < 0 || page >= grid.pages) return;
  here.page = page;
  announce(`Page ${page + 1} of ${grid.pages}.`);
  render();
}

/** @param {string[]} keys of those who speak, the loudest first */
export function onSpeakers(keys) {
  here.spotlight.heard(keys, performance.now());
  grid.speaking(new Set(keys));
  render();
}
