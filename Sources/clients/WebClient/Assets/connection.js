// connection.js: how good the connection is, at the top of a room and on tiles, in true words.
import { $, isTroubled } from "./page.js";
import { weakLine } from "./words.js";

const LEVELS = { good: "Good", fair: "Fair", poor: "Poor", unknown: "" };
const RANKS = { unknown: -1, good: 0, fair: 1, poor: 2 };
const INTERRUPTED = { level: "poor", words: "Reconnecting…", why: "The connection to the server is interrupted.", numbers: "" };

/**
 * @param {?object} quality what was measured last, see `Room.quality` @param {?object} own what the server told of one's own line
 * @param {boolean} isSomebodyAway whether a tile says that somebody reconnects: nothing is called good meanwhile
 */
export function showConnection(quality, own, isSomebodyAway) {
  const { level, words, why, numbers } = isTroubled("session") || isTroubled("media") ? INTERRUPTED : inWords(quality, own);
  const box = $("quality");
  box.hidden = level === "unknown" || (level === "good" && isSomebodyAway);
  box.dataset.level = level;
  $("quality-level").textContent = words;
  $("quality-noun").hidden = words === INTERRUPTED.words;
  $("quality-why").textContent = why;
  $("quality-numbers").textContent = numbers;
}

/** The worse of what both ends have found. */
function inWords(quality, own) {
  if (!quality) return { level: "unknown", words: "", why: "", numbers: "" };
  const { rttMs, lossIn, lossOut } = quality;
  const isOurs = !own || RANKS[own.level] <= RANKS[quality.level];
  const level = isOurs ? quality.level : own.level;
  const percent = (share) => `${(share * 100).toFixed(1)} %`;
  const carries = own?.estimate && own.level !== "good" ? ` Your line carries about ${own.estimate} kbit/s.` : "";
  return {
    level, words: LEVELS[level], why: isOurs ? quality.why || "Everything arrives in time." : weakLine(true, own),
    numbers: `Lost on the way to you ${percent(lossIn)}, from you ${percent(lossOut)}. There and back ${Math.round(rttMs)} ms.${carries}`,
  };
}
