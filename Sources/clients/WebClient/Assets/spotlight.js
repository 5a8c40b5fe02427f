// spotlight.js: whose tile is large: a pinned one, a shared screen, who speaks, or nobody's. Times come in as arguments.

/** Who is large as a speaker stays so this long after having been the loudest, milliseconds: two who talk do not flap. */
export const HOLD_MS = 2000;

/** The choice of one large tile among those of tiles.js. */
export class Spotlight {
  /** Who speaks is large where nothing else is. */
  isSpeakerView = false;
  /** The key of the tile that somebody wants to keep large. @type {?string} */
  pinned = null;
  /** Speakers, the loudest first; and the others in the room, oneself not among them. */
  #speakers = [];
  #people = [];
  /** Whom the speaker view shows, and when that one was the loudest last. */
  #shown = null;
  #loudAt = -Infinity;
  /** Screens that were sent back into the grid. */
  #unstaged = new Set();
  /** When another speaker becomes large, if nothing else happens; Infinity for never. */
  nextChange = Infinity;

  /** Keeps a tile large, or lets it go again. @param {string} key */
  togglePin(key) {
    this.pinned = this.pinned === key ? null : key;
  }

  /** From one large to the grid and back. @param {object[]} tiles @param {number} now milliseconds */
  toggleView(tiles, now) {
    if (this.large(tiles, now)) {
      this.pinned = null;
      this.isSpeakerView = false;
      this.#unstaged = new Set(screensOf(tiles).map(({ key }) => key));
    } else {
      this.isSpeakerView = true;
      this.#unstaged.clear();
    }
  }

  /** The list of speakers changed. @param {string[]} keys the loudest first @param {number} now */
  heard(keys, now) {
    if (this.#shown !== null && this.#loudest() === this.#shown) this.#loudAt = now; // until this very moment
    this.#speakers = keys;
  }

  /** The key of the tile that is large; null where all are alike. @param {object[]} tiles @param {number} now @returns {?string} */
  large(tiles, now) {
    const keys = new Set(tiles.map(({ key }) => key));
    if (!keys.has(this.pinned)) this.pinned = null;
    for (const key of this.#unstaged) if (!keys.has(key)) this.#unstaged.delete(key);
    this.#people = tiles.filter(({ kind, isSelf }) => kind === "person" && !isSelf).map(({ key }) => key);
    const speaker = this.#follow(now);
    const screen = screensOf(tiles).find(({ key }) => !this.#unstaged.has(key));
    return this.pinned ?? screen?.key ?? (this.isSpeakerView ? speaker : null);
  }

  #loudest() {
    return this.#speakers.find((key) => this.#people.includes(key)) ?? null;
  }

  #follow(now) {
    this.nextChange = Infinity;
    const loudest = this.#loudest();
    if (!this.#people.includes(this.#shown)) {
      this.#show(loudest ?? this.#people[0] ?? null, loudest ? now : -Infinity);
    } else if (loudest && loudest !== this.#shown) {
      if (now - this.#loudAt >= HOLD_MS) this.#show(loudest, now);
      else this.nextChange = this.#loudAt + HOLD_MS;
    }
    return this.#shown;
  }

  #show(key, at) {
    this.#shown = key;
    this.#loudAt = at;
  }
}

/** Screens of others, the newest first, as they stand among the tiles. */
const screensOf = (tiles) => tiles.filter(({ kind }) => kind === "screen");
