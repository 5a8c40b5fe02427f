// connection.js: how good the connection is, at the top of a room, in true words.
import { $, isTroubled } from "./page.js";

const LEVELS = { good: "Good", fair: "Fair", poor: "Poor", unknown: "" };
const INTERRUPTED = { level: "poor", words: "Reconnecting…", why: "The connection to the server is interrupted.", numbers: "" };

/**
 * @param {?object} quality what was measured last, see `Room.quality`
 * @param {boolean} isSomebodyAway whether a tile says that somebody reconnects: nothing is called good meanwhile
 */
export function showConnection(quality, isSomebodyAway) {
  const { level, words, why, numbers } = isTroubled("session") || isTroubled("media") ? INTERRUPTED : inWords(quality);
  const box = $("quality");
  box.hidden = level === "unknown" || (level === "good" && isSomebodyAway);
  box.dataset.level = level;
  $("quality-level").textContent = words;
  $("quality-noun").hidden = words === INTERRUPTED.words;
  $("quality-why").textContent = why;
  $("quality-numbers").textContent = numbers;
}

function inWords(quality) {
  if (!quality) return { level: "unknown", words: "", why: "", numbers: "" };
  const { level, why, rttMs, lossIn, lossOut } = quality;
  const percent = (share) => `${(share * 100).toFixed(1)} %`;
  return {
    level, words: LEVELS[level], why: why || "Everything arrives in time.",
    numbers: `Lost on the way to you ${percent(lossIn)}, from you ${percent(lossOut)}. There and back ${Math.round(rttMs)} ms.`,
  };
}
