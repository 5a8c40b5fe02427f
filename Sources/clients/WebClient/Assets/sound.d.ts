// Types of sound.js, which plays the sound of a room; docs/web-client.md says how.
import type { Emitter, Room } from "./roost.js";

/** Events of the sound of a room. */
export interface RoomSoundEvents {
  /** The browser holds sound back, or does so no more. */
  blocked: { blocked: boolean };
}

/** Plays what is received of others in a room, each sound in an element of its own. */
export class RoomSound extends Emitter<RoomSoundEvents> {
  constructor(room: Room);
  /** The browser holds sound back until the page is touched: call `start` then. */
  blocked: boolean;
  /** The deviceId of the loudspeakers; empty for those that the system has chosen. */
  readonly output: string;
  /** What plays, for volumes and meters. */
  readonly elements: HTMLAudioElement[];
  /** Plays what the browser held back; whether all plays now. */
  start(): Promise<boolean>;
  /** Plays on other loudspeakers, also what comes later. Where that fails all stays as it was, and the error has the code −8. */
  setOutput(deviceId: string): Promise<void>;
  /** Plays no more. The room goes on. */
  close(): void;
}
