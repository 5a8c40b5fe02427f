// grid.js: the tiles of a room as elements, each where layout.js has its place.
import { arrange } from "./layout.js";
import { $, trouble } from "./page.js";
import { Tile } from "./tile.js";

class Grid {
  /** What tiles do; app.js says it. */
  actions = {};
  #root; #tiles = new Map(); #states = []; #wish = {};
  /** Which of how many pages is shown. */
  page = 0;
  pages = 1;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
    new ResizeObserver(() => this.#layout()).observe(root);
  }

  /**
   * Brings the tiles in line with the room.
   * @param {TileState[]} states in the order in which they stand
   * @param {{large: ?string, pinned: ?string, page: number, isPair: boolean}} wish
   */
  show(states, wish) {
    const wanted = new Set(states.map(({ key }) => key));
    for (const [key, tile] of this.#tiles) {
      if (wanted.has(key)) continue;
      tile.remove();
      this.#tiles.delete(key);
    }
    states.forEach((state, place) => {
      const tile = this.#tiles.get(state.key) ?? this.#make(state.key);
      if (this.#root.children[place] !== tile.root) this.#root.insertBefore(tile.root, this.#root.children[place] ?? null);
      tile.show(state);
      tile.pinned(state.key === wish.pinned);
    });
    [this.#states, this.#wish] = [states, wish];
    this.#layout();
  }

  clear() {
    for (const tile of this.#tiles.values()) tile.remove();
    this.#tiles.clear();
    this.#states = [];
  }

  /** @param {Set<string>} participantIds who speaks */
  speaking(participantIds) {
    for (const [key, tile] of this.#tiles) tile.speaking(participantIds.has(key));
  }

  /** Plays what the browser held back until the user touched the page. */
  resume() {
    for (const tile of this.#tiles.values()) tile.resume();
  }

  /** The tile with that key. @param {string} key @returns {Tile|undefined} */
  tile(key) {
    return this.#tiles.get(key);
  }

  #make(key) {
    const tile = new Tile(key, { play, ...this.actions, shaped: () => this.#layout() });
    this.#tiles.set(key, tile);
    return tile;
  }

  #layout() {
    const { clientWidth: width, clientHeight: height } = this.#root;
    if (!width) return;
    const inset = parseFloat(getComputedStyle(this.#root).paddingLeft) || 0;
    const pieces = this.#states.map((state) => ({ ...state, aspect: this.#tiles.get(state.key).aspect }));
    const { places, pager, page, pages } = arrange({ width, height, inset }, pieces, this.#wish);
    for (const [key, tile] of this.#tiles) tile.stand(places.get(key) ?? null);
    [this.page, this.pages] = [page, pages];
    this.#showPager(pager);
  }

  #showPager(box) {
    $("pager").hidden = !box;
    if (!box) return;
    $("pager-text").textContent = `${this.page + 1} of ${this.pages}`;
    $("pager-back").setAttribute("aria-disabled", String(this.page === 0));
    $("pager-next").setAttribute("aria-disabled", String(this.page === this.pages - 1));
    for (const [side, value] of [["left", box.x], ["top", box.y], ["width", box.width], ["height", box.height]]) {
      $("pager").style.setProperty(side, `${value.toFixed(2)}px`);
    }
  }
}

export const grid = new Grid($("grid"));

function play(element) {
  element.play().catch((error) => {
    if (error.name !== "NotAllowedError") return; // AbortError: taken away meanwhile
    const run = () => {
      trouble("sound", null);
      grid.resume();
    };
    trouble("sound", "The browser is holding back the sound.", { label: "Hear the others", run });
  });
}
