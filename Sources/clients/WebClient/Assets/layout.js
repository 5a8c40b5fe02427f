// layout.js: where each tile stands: from sizes and people to boxes. It knows no element of the page.

/** Between two tiles, pixels. */
const GAP = 10;
/** Rows do not shrink below this width: whoever has no place then stands on a next page. */
const LEAST = 160;
/** The line under a shared screen, with its name. */
export const NAME_LINE = 30;
/** The buttons that turn pages. */
const PAGER = { width: 150, height: 48 };
/** What tells that one shares one's own screen. */
const SHARING = { width: 420, height: 60 };
const WIDE = 16 / 9;

/**
 * A rectangle in pixels.
 * @typedef {{x: number, y: number, width: number, height: number}} Box
 *
 * What the layout has to know of a tile.
 * @typedef {object} Piece
 * @property {string} key
 * @property {"person"|"view"|"screen"|"sharing"} kind `sharing` is one's own screen, which is never large
 * @property {boolean} isSelf
 * @property {number} [aspect] of a shared screen: its width divided by its height
 */

/**
 * Gives each tile a place.
 * @param {{width: number, height: number, inset: number}} area all there is; `inset` stays free left and right of small tiles
 * @param {Piece[]} pieces in the order in which they stand
 * @param {{large?: ?string, page?: number, isPair?: boolean}} [wish] the key of the tile that is large; which page of those
 *   that do not fit, from 0; `isPair`: two people fill the area, oneself small in a corner
 * @returns {{places: Map<string, Box & {role: string}>, pager: ?Box, page: number, pages: number}} a tile without a place is
 *   on another page; `role` is `grid`, `large`, `strip`, `corner` or `sharing`
 */
export function arrange(area, pieces, { large = null, page = 0, isPair = false } = {}) {
  const all = { x: 0, y: 0, width: area.width, height: area.height };
  const own = pieces.filter(({ kind }) => kind === "sharing");
  const others = pieces.filter(({ kind }) => kind !== "sharing");
  const { places, rest } = sharing(all, own, area.inset);
  const first = others.find(({ key }) => key === large);
  const result = first ? stage(rest, area.inset, first, others.filter((piece) => piece !== first), page)
    : isPair && isTwo(others) ? pair(rest, others)
      : grid(inside(rest, area.inset), others, page);
  return { ...result, places: new Map([...places, ...result.places]) };
}

const isTwo = (pieces) => pieces.length === 2 && pieces.every(({ kind }) => kind === "person") && pieces.some(({ isSelf }) => isSelf);
const inside = ({ x, y, width, height }, inset) => ({ x: x + inset, y, width: Math.max(0, width - 2 * inset), height });
const heightOf = (width) => width / WIDE;

/** One's own screens, each a low bar at the top: whoever looks at the others must not see their own screen in itself. */
function sharing(all, pieces, inset) {
  const width = Math.min(SHARING.width, all.width - 2 * inset);
  const places = pieces.map(({ key }, place) => [key, {
    role: "sharing", x: (all.width - width) / 2, y: place * (SHARING.height + GAP), width, height: SHARING.height,
  }]);
  const taken = pieces.length * (SHARING.height + GAP);
  return { places, rest: { ...all, y: taken, height: Math.max(0, all.height - taken) } };
}

/** The other fills it all, and oneself is small in the corner. */
function pair(area, pieces) {
  const width = Math.min(240, Math.max(104, area.width / 5));
  const corner = { x: area.x + area.width - width - 12, y: area.y + area.height - heightOf(width) - 12, width, height: heightOf(width) };
  const places = pieces.map(({ key, isSelf }) => [key, isSelf ? { role: "corner", ...corner } : { role: "large", ...area }]);
  return { places, pager: null, page: 0, pages: 1 };
}

/** Everybody alike, as large as it goes; from the least width on, the rest is on other pages. */
function grid(area, pieces, page) {
  const whole = bestWidth(area, pieces.length);
  if (whole >= least(area) || pieces.length <= 1) return pageOf(area, pieces, { width: whole, count: pieces.length, role: "grid" });
  const less = { ...area, height: area.height - PAGER.height - GAP };
  const count = capacity(less, least(area));
  return pageOf(less, pieces, { width: bestWidth(less, count), count, role: "grid", page, pager: under(area) });
}

/** On the smallest phones two still stand side by side. */
const least = ({ width }) => Math.min(LEAST, (width - GAP) / 2);

/** The width of as many tiles when their columns and rows are chosen so that they are largest. */
function bestWidth({ width, height }, count) {
  let best = 0;
  for (let columns = 1; columns <= count; columns++) {
    const rows = Math.ceil(count / columns);
    const byWidth = (width - GAP * (columns - 1)) / columns;
    best = Math.max(best, Math.min(byWidth, ((height - GAP * (rows - 1)) / rows) * WIDE));
  }
  return Math.floor(best);
}

/** How many tiles of a width there is room for: at least one. */
function capacity(area, width) {
  return columnsIn(area, width) * Math.max(1, Math.floor((area.height + GAP) / (heightOf(width) + GAP)));
}

const columnsIn = (area, width) => Math.max(1, Math.floor((area.width + GAP) / (width + GAP)));

/** The row at the bottom that turns pages. */
const under = ({ x, y, width, height }) => ({ x, y: y + height - PAGER.height, width, height: PAGER.height });

/** One page of tiles of a width, in rows that are centred. */
function pageOf(area, pieces, { width, count, role, page = 0, pager = null, isAtTop = false }) {
  const pages = Math.max(1, Math.ceil(pieces.length / Math.max(1, count)));
  const now = Math.min(Math.max(0, page), pages - 1);
  const shown = pieces.slice(now * count, (now + 1) * count);
  const perRow = fewestColumns(area, shown.length, width);
  const height = heightOf(width);
  const rows = Math.ceil(shown.length / perRow);
  const top = area.y + (isAtTop ? 0 : Math.max(0, (area.height - rows * (height + GAP) + GAP) / 2));
  const places = shown.map(({ key }, index) => {
    const row = Math.floor(index / perRow);
    const inRow = Math.min(perRow, shown.length - row * perRow);
    const left = area.x + (area.width - inRow * (width + GAP) + GAP) / 2;
    return [key, { role, x: left + (index % perRow) * (width + GAP), y: top + row * (height + GAP), width, height }];
  });
  return { places, pager: pages > 1 ? pager : null, page: now, pages };
}

/** As few columns as the height allows, so that five stand as three and two rather than four and one. */
function fewestColumns(area, count, width) {
  const most = columnsIn(area, width);
  const rows = Math.max(1, Math.ceil(count / most));
  return Math.max(1, Math.ceil(count / rows));
}

/** One large, and the others in a strip beside or below it: whichever leaves more of the picture. */
function stage(area, inset, large, others, page) {
  if (others.length === 0) return withStrip(large, others, { main: area, page });
  if (area.height > area.width) return upright(area, inset, large, others, page);
  const options = [beside(area, large, others, page), below(area, large, others, page)];
  return options.reduce((best, option) => (option.size > best.size ? option : best));
}

function beside(area, large, others, page) {
  const width = Math.round(Math.min(200, Math.max(112, area.width * 0.14)));
  const main = { ...area, width: area.width - width - GAP };
  return withStrip(large, others, { main, strip: { ...area, x: area.x + main.width + GAP, width }, width, page, isTall: true });
}

function below(area, large, others, page) {
  const height = Math.round(Math.min(112, Math.max(64, area.height * 0.13)));
  const main = { ...area, height: area.height - height - GAP };
  const strip = { ...area, y: area.y + main.height + GAP, height };
  return withStrip(large, others, { main, strip, width: Math.floor(height * WIDE), page });
}

/** On a phone held upright: the large one over the full width, the others in rows of two below it. */
function upright(area, inset, large, others, page) {
  const width = Math.floor((area.width - 2 * inset - GAP) / 2);
  const row = heightOf(width) + GAP;
  const most = large.kind === "screen" ? heightFor(large, area.width) : (area.width * 4) / 3;
  const wanted = Math.ceil(others.length / 2) * row;
  // One row at the least, and never less for the large one than its picture needs over the full width.
  const rest = Math.max(row, area.height - heightFor(large, area.width));
  const main = { ...area, height: Math.min(most, area.height - Math.min(wanted, rest)) };
  const free = area.height - main.height - GAP;
  const strip = { ...inside(area, inset), y: area.y + main.height + GAP, height: free };
  return withStrip(large, others, { main, strip, width, page, isAtTop: true });
}

const heightFor = ({ kind, aspect = WIDE }, width) => (kind === "screen" ? width / aspect + NAME_LINE : heightOf(width));

/** @returns the places, and `size`: how much of the large picture there is */
function withStrip(large, others, { main, strip, ...options }) {
  const box = fit(main, large);
  const picture = large.kind === "screen" ? box.height - NAME_LINE : box.height;
  const rest = strip ? inStrip(strip, others, options) : { places: [], pager: null, page: 0, pages: 1 };
  return { ...rest, places: [[large.key, { role: "large", ...box }], ...rest.places], size: Math.min(picture, heightOf(box.width)) * box.width };
}

/** The largest box within the area: of a screen's own shape with its name under it; of a camera between 4:3 and 16:9. */
function fit(area, { kind, aspect = WIDE }) {
  const line = kind === "screen" ? NAME_LINE : 0;
  const [narrow, broad] = kind === "screen" ? [aspect, aspect] : [Math.min(4 / 3, area.width / area.height), WIDE];
  const width = Math.min(area.width, Math.max(0, area.height - line) * broad);
  const height = Math.min(area.height - line, width / narrow) + line;
  return { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
}

/** Tiles of one width, with the buttons for pages under a column, or beside a row where that is all there is. */
function inStrip(strip, others, { width, page, isTall = false, isAtTop = false }) {
  const count = capacity(strip, width);
  if (others.length <= count) return pageOf(strip, others, { width, count, role: "strip", isAtTop });
  const isRow = !isTall && strip.height < 2 * heightOf(width);
  const less = isRow ? { ...strip, width: strip.width - PAGER.width - GAP } : { ...strip, height: strip.height - PAGER.height - GAP };
  const pager = isRow ? { x: strip.x + strip.width - PAGER.width, y: strip.y + (strip.height - PAGER.height) / 2, ...PAGER } : under(strip);
  return pageOf(less, others, { width, count: capacity(less, width), role: "strip", page, pager, isAtTop });
}
