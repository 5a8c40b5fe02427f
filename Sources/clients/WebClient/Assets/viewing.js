// viewing.js: what one does about the tiles: keep one large, speaker view or grid, full screen, pages.
import { grid } from "./grid.js";
import { here, render } from "./here.js";
import { announce, isTroubled } from "./page.js";
import { tilesOf } from "./tiles.js";

/** How long a click waits for a second one: that means full screen, and must not move tiles on the way, milliseconds. */
const DOUBLE_MS = 250;

const NO_CLICK = { key: null, timer: 0, isOver: false, hasPinned: false };
/** The first click of what may be two. */
let first = NO_CLICK;

/** The tiles of the room as it is now. @returns {TileState[]} */
export const tilesNow = () => tilesOf(here.room, { isOffline: isTroubled("session") || isTroubled("media") });

/** @param {MouseEvent} event a click on the grid, also one made by a key */
export function onTileClick(event) {
  const key = event.target.closest(".pin")?.closest(".tile").dataset.key ?? null;
  if (key && event.detail === 0) return togglePin(key); // Enter or space
  // Not every phone counts touches.
  const isSecond = event.detail > 1 || (key && key === first.key && !first.isOver);
  if (isSecond) onSecondClick();
  else onFirstClick(key);
}

function onFirstClick(key) {
  const click = (first = { ...NO_CLICK, key });
  if (!key) return;
  click.timer = setTimeout(() => {
    click.isOver = true;
    click.hasPinned = !document.fullscreenElement;
    if (click.hasPinned) togglePin(key);
  }, DOUBLE_MS);
}

/** Of two slow clicks the first has moved the tile already: that is taken back. */
function onSecondClick() {
  const { key, timer, hasPinned } = first;
  first = NO_CLICK;
  if (!key) return;
  clearTimeout(timer);
  if (hasPinned) togglePin(key);
  fullScreen(key);
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
  if (here.spotlight.isSpeakerView) render();
}
