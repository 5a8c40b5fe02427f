// views.js: places for video whose track the server exchanges, without negotiation.
import { emit } from "./basics.js";

/** How long a name waits for its picture: a page that is not seen is shown none. */
const PATIENCE_MS = 500;

/**
 * A place for one video after the other, made by {@link Room#openViews}. The room tells `viewChanged` `{view}` when something of it changes.
 * Of a view that plays in an element (`attach`) `track` and `participant` change with the first picture.
 */
export class View {
  /** Another one after a reconnect that took a new seat. @type {string} */ subscriptionId = "";
  /** null until it is negotiated; then the same whatever is shown. @type {?MediaStreamTrack} */ mediaStreamTrack = null;
  /** What it shows; null for nothing. It says whether that is muted. @type {?Track} */ track = null;
  /** Whose that is. @type {?Participant} */ participant = null;
  /** Why it shows nothing, where that was not wished for: `no_codec`. @type {?string} */ reason = null;
  /** The server sends nothing for now. @type {boolean} */ paused = false;
  #room; #element = null; #next = null;

  constructor(room) {
    this.#room = room;
  }

  /** Shows a track, whoever speaks, or nothing. @param {?Track|"activeSpeaker"} what @throws {RoostError} 4001, 4002, 1006 when too often */
  show(what) {
    return this.#room.show([[this, what]]);
  }

  /** Plays in an element from now on. @param {HTMLVideoElement} element */
  attach(element) {
    this.#element = element;
    this.#play();
  }

  /** Ends it; its line is used again. */
  async close() {
    await this.#room._views.remove(this);
  }

  // What follows is for the room.
  _bind(mediaStreamTrack) {
    if (this.mediaStreamTrack === mediaStreamTrack) return;
    this.mediaStreamTrack = mediaStreamTrack;
    this.#play();
    this._tell();
  }

  _tell() {
    emit(this.#room, "viewChanged", { view: this });
  }

  _changed({ trackId, rtpTimestamp, reason = null }) {
    const next = { trackId, reason };
    this.#next = next;
    const element = this.#element;
    if (rtpTimestamp === undefined || !element?.requestVideoFrameCallback) return this.#take(next);
    const look = (_, picture) => {
      if (this.#next !== next) return;
      // Browsers that do not tell which picture it is: the event came with the first.
      const late = picture.rtpTimestamp === undefined ? 0 : (picture.rtpTimestamp - rtpTimestamp) | 0;
      if (late >= 0) this.#take(next);
      else element.requestVideoFrameCallback(look);
    };
    element.requestVideoFrameCallback(look);
    setTimeout(() => this.#take(next), PATIENCE_MS);
  }

  #take(next) {
    if (this.#next !== next) return;
    this.#next = null;
    const found = this.#room._find(next.trackId);
    Object.assign(this, { track: found?.track ?? null, participant: found?.participant ?? null, reason: next.reason });
    this._tell();
  }

  #play() {
    if (!this.#element) return;
    this.#element.srcObject = this.mediaStreamTrack && new MediaStream([this.mediaStreamTrack]);
  }
}

/** The views of a room. */
export class Views {
  /** @type {View[]} */ all = [];
  #room;

  constructor(room) {
    this.#room = room;
  }

  find(subscriptionId) {
    return this.all.find((view) => view.subscriptionId === subscriptionId);
  }

  async open(count, again = []) {
    const { views } = await this.#room._request("view.open", { count });
    return this.#add(views, again);
  }

  async show(changes) {
    const views = changes.map(([{ subscriptionId }, what]) => ({
      subscriptionId, ...(what === "activeSpeaker" ? { follow: what } : what ? { trackId: what.trackId } : {}),
    }));
    await this.#room._request("view.show", { views });
    for (const [view, what] of changes) view._follows = what === "activeSpeaker";
  }

  async remove(view) {
    await this.#room.unsubscribe(view.subscriptionId);
    this.all = this.all.filter((one) => one !== view);
  }

  /** The lines of the newest offer. @param {Map<string, MediaStreamTrack>} received by subscriptionId */
  bind(received) {
    for (const view of this.all) view._bind(received.get(view.subscriptionId) ?? null);
  }

  /** A new seat has new views: those of before take their places, and follow whom they followed. */
  async renew(ids) {
    const again = this.all.splice(0);
    this.#add(ids, again);
    if (again.length) await this.open(again.length, again);
    const following = this.all.filter(({ _follows }) => _follows);
    if (following.length) await this.show(following.map((view) => [view, "activeSpeaker"]));
  }

  #add(ids, again) {
    const added = ids.map((subscriptionId) => {
      const view = again.shift() ?? new View(this.#room);
      Object.assign(view, { subscriptionId, paused: false, missing: null, _told: null });
      view._changed({});
      return view;
    });
    this.all.push(...added);
    return added;
  }
}
