// tiles.js: from a room to what its tiles show. It knows no element of the page.
import { isScreen } from "./roost.js";
import { missingLine, weakLine } from "./words.js";

/**
 * What one tile shows.
 * @typedef {object} TileState
 * @property {string} key stays the same for as long as the tile is there
 * @property {"person"|"view"|"screen"|"sharing"} kind a person; one more camera of theirs; a shared screen; one's own screen
 * @property {string} participantId @property {string} name @property {string} title @property {boolean} isSelf
 * @property {string} weak whose line is weak and why, or "" @property {string} [level] how weak
 * @property {string} away why it stands still, or "" @property {?Track} track another's picture @property {?MediaStreamTrack} picture @property {boolean} hasVideo @property {boolean} videoMuted
 * @property {boolean} [hand] whether they have raised it @property {boolean} hasAudio @property {boolean} audioMuted @property {MediaStreamTrack[]} sounds
 */

/**
 * The tiles of a room in the order in which they stand: screens, the newest first, then people and their further cameras,
 * and oneself last.
 * @param {Room} room @param {{isOffline: boolean}} own `isOffline`: one's own session or media is gone
 * @returns {TileState[]}
 */
export function tilesOf(room, { isOffline }) {
  const people = [...room.participants.values()].sort((a, b) => Number(a.isSelf) - Number(b.isSelf));
  const tiles = people.flatMap((person) => tilesOfPerson(room, person, isOffline));
  // The server counts tracks: of two screens the one with the greater number is newer.
  const screens = tiles.filter(({ kind }) => kind === "screen").sort((a, b) => b.key.localeCompare(a.key, "en", { numeric: true }));
  return [...screens, ...tiles.filter(({ kind }) => kind !== "screen")];
}

function tilesOfPerson(room, person, isOffline) {
  const { participantId, isSelf } = person;
  const name = person.displayName || person.user;
  const tracks = isSelf ? [...room.localTracks] : [...person.tracks.values()];
  // Whether one's own connection is there, one knows better than what was last heard of it.
  const common = { name, participantId, isSelf, hand: person.handRaisedAt, ...weakness(room, person), away: (isSelf ? isOffline : person.state === "reconnecting") ? "reconnecting…" : "" };
  const cameras = tracks.filter((track) => track.kind === "video" && !isScreen(track));
  // Of a device with several views the first stands for it.
  const [camera, ...views] = cameras.sort((a, b) => (a.viewIndex ?? 0) - (b.viewIndex ?? 0));
  const more = [...tracks.filter(isScreen), ...views].filter(({ mediaStreamTrack }) => mediaStreamTrack);
  return [...more.map((track, place) => another(track, common, place)), main(tracks, camera, common)];
}

function main(tracks, camera, common) {
  const sounds = tracks.filter(({ kind }) => kind === "audio");
  const voices = sounds.filter(({ source }) => source !== "screen_audio");
  return {
    ...common, ...ofTrack(camera, common, voices), key: common.participantId, kind: "person", title: common.isSelf ? `${common.name} (you)` : common.name,
    hasVideo: Boolean(camera), videoMuted: Boolean(camera?.muted), picture: shown(camera),
    hand: Boolean(common.hand), hasAudio: voices.length > 0, audioMuted: voices.every(({ muted }) => muted),
    sounds: common.isSelf ? [] : sounds.map(({ mediaStreamTrack }) => mediaStreamTrack).filter(Boolean),
  };
}

function another(track, common, place) {
  const isOfScreen = isScreen(track);
  const kind = !isOfScreen ? "view" : common.isSelf ? "sharing" : "screen";
  return {
    ...common, ...ofTrack(track, common), kind, key: common.isSelf ? `own ${track.label} ${place}` : track.trackId,
    title: kind === "sharing" ? "You are sharing your screen" : isOfScreen ? `${common.name}’s screen` : `${common.name}: ${track.label}`,
    hasVideo: true, videoMuted: track.muted, picture: kind === "sharing" ? null : shown(track), hasAudio: false, audioMuted: true, sounds: [],
  };
}

/** In words: one's own line, or theirs. */
function weakness(room, { isSelf, quality }) {
  const seen = isSelf ? (room.own?.level === "good" ? null : room.own) : quality;
  return seen ? { level: seen.level, weak: weakLine(isSelf, seen) } : { weak: "" };
}

/** `voices`: what is heard with the picture. */
const ofTrack = (track, { isSelf, away, level, weak }, voices = []) => ({
  track: isSelf ? null : track,
  away: away || (track?.tooSlow ? "paused: your connection is too slow" : missingLine([track, ...voices]) || (level === "poor" && !isSelf ? weak : "")),
});
const shown = (track) => (track && !track.muted && track.mediaStreamTrack) || null;
