// sound.js: plays the sound of a room, for programs that use the SDK: on the loudspeakers that one chooses, and as soon as the browser lets
// them. The page that Roost serves has players of its own, and does not load this.
//
//   const sound = new RoomSound(room);
//   sound.addEventListener("blocked", ({ detail }) => (button.hidden = !detail.blocked));
//   button.onclick = () => sound.start();
import { emit } from "./basics.js";
import { RoostError } from "./errors.js";

/** Events of a room with which sound comes and goes. */
const CHANGES = ["trackStarted", "trackStopped", "trackUnpublished", "participantLeft", "refreshed"];
const NO_OUTPUT = "These loudspeakers are not there, or this browser does not let pages choose any.";

/** Plays what is received of others, each sound in an element of its own. Its types are in sound.d.ts. */
export class RoomSound extends EventTarget {
  /** The browser holds sound back until the page is touched. @type {boolean} */ blocked = false;
  #room; #output = ""; #look = () => this.#bring(); #end = () => this.close();
  /** By track. @type {Map<MediaStreamTrack, HTMLAudioElement>} */ #elements = new Map();
  /** Elements that the browser does not play. */ #held = new Set();

  /** @param {Room} room what plays ends with it, or with `close` */
  constructor(room) {
    super();
    this.#room = room;
    for (const type of CHANGES) room.addEventListener(type, this.#look);
    room.addEventListener("closed", this.#end);
    this.#bring();
  }

  /** The deviceId of the loudspeakers; empty for those that the system has chosen. @returns {string} */
  get output() {
    return this.#output;
  }

  /** What plays, for volumes and meters. @returns {HTMLAudioElement[]} */
  get elements() {
    return [...this.#elements.values()];
  }

  /** Plays what the browser held back. Call it when somebody touches the page. @returns {Promise<boolean>} whether all plays now */
  async start() {
    await Promise.all(this.elements.map((element) => this.#play(element)));
    return !this.blocked;
  }

  /**
   * Plays on other loudspeakers, also what comes later. Where that fails all stays as it was.
   * @param {string} deviceId of `listDevices().output`; empty for those that the system has chosen @throws {RoostError} −8
   */
  async setOutput(deviceId) {
    try {
      await new Audio().setSinkId(deviceId);
    } catch (error) {
      throw new RoostError(-8, NO_OUTPUT, { name: "OUTPUT_UNAVAILABLE", reason: String(error?.message ?? error) });
    }
    this.#output = deviceId;
    await Promise.all(this.elements.map((element) => this.#direct(element)));
  }

  /** Plays no more. The room goes on. */
  close() {
    for (const type of CHANGES) this.#room.removeEventListener(type, this.#look);
    this.#room.removeEventListener("closed", this.#end);
    this.#keep(new Set());
  }

  #bring() {
    const others = [...this.#room.participants.values()].filter(({ isSelf }) => !isSelf);
    const tracks = others.flatMap((person) => [...person.tracks.values()]).filter(({ kind }) => kind === "audio");
    const wanted = new Set(tracks.map(({ mediaStreamTrack }) => mediaStreamTrack).filter(Boolean));
    this.#keep(wanted);
    for (const track of wanted) if (!this.#elements.has(track)) this.#add(track);
  }

  #keep(wanted) {
    for (const [track, element] of this.#elements) {
      if (wanted.has(track)) continue;
      element.srcObject = null;
      this.#elements.delete(track);
      this.#held.delete(element);
    }
    this.#tell();
  }

  async #add(track) {
    const element = new Audio();
    element.srcObject = new MediaStream([track]);
    this.#elements.set(track, element);
    await this.#direct(element);
    await this.#play(element);
  }

  /** Loudspeakers that were pulled out meanwhile are the system's affair. */
  async #direct(element) {
    if (element.sinkId !== undefined && element.sinkId !== this.#output) await element.setSinkId(this.#output).catch(() => {});
  }

  async #play(element) {
    try {
      await element.play();
      this.#held.delete(element);
    } catch (error) {
      // AbortError: it was taken away meanwhile.
      if (error.name === "NotAllowedError" && element.srcObject) this.#held.add(element);
    }
    this.#tell();
  }

  #tell() {
    if (this.blocked === this.#held.size > 0) return;
    this.blocked = !this.blocked;
    emit(this, "blocked", { blocked: this.blocked });
  }
}
