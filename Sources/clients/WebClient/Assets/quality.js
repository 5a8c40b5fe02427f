// quality.js: how good a connection is, from WebRTC statistics, in words for people.

/** From which share of lost packets, round trip and frozen time on a connection is only fair, or poor. */
const LIMITS = { fair: { loss: 0.02, rttMs: 300, frozen: 0.05 }, poor: { loss: 0.08, rttMs: 800, frozen: 0.3 } };

/**
 * Judges what was measured over some seconds.
 * @param {{connected: boolean, lossIn: number, lossOut: number, rttMs: number, frozen: number}} seen fractions, but for the
 *   round trip
 * @returns {{level: "good"|"fair"|"poor", why: string}} `why` is empty when all is well
 */
export function judgeQuality({ connected, lossIn, lossOut, rttMs, frozen }) {
  if (!connected) return { level: "poor", why: "The connection is interrupted." };
  const percent = (share) => `${Math.max(1, Math.round(share * 100))} %`;
  for (const level of ["poor", "fair"]) {
    const limit = LIMITS[level];
    if (lossIn >= limit.loss) return { level, why: `${percent(lossIn)} of what is sent to you gets lost.` };
    if (lossOut >= limit.loss) return { level, why: `${percent(lossOut)} of what you send gets lost.` };
    if (frozen >= limit.frozen) return { level, why: "The pictures stall." };
    if (rttMs >= limit.rttMs) return { level, why: `The way is long: ${Math.round(rttMs)} ms there and back.` };
  }
  return { level: "good", why: "" };
}

/** Compares the statistics of a room with those of the time before. */
export class QualityMeter {
  #before = null;

  /** @param {{publish: ?RTCStatsReport, subscribe: ?RTCStatsReport}} stats @param {string[]} states of both connections */
  read(stats, states) {
    const now = sum(stats);
    const before = this.#before;
    this.#before = now;
    const facts = { lossIn: 0, lossOut: now.lossOut, rttMs: now.rttMs, frozenMs: 0 };
    const started = states.some((state) => state && state !== "new" && state !== "connecting");
    if (!before || !started) return { level: "unknown", why: "Measuring…", ...facts };
    const seconds = Math.max(0.5, (now.at - before.at) / 1000);
    const [lost, received] = [Math.max(0, now.lost - before.lost), Math.max(0, now.received - before.received)];
    facts.lossIn = lost + received > 0 ? lost / (lost + received) : 0;
    facts.frozenMs = Math.max(0, now.frozen - before.frozen) * 1000;
    const connected = !states.some((state) => state === "failed" || state === "disconnected");
    return { ...judgeQuality({ ...facts, connected, frozen: facts.frozenMs / 1000 / seconds }), ...facts };
  }
}

/** The numbers that matter, of both connections. */
function sum({ publish, subscribe }) {
  const total = { at: performance.now(), lost: 0, received: 0, frozen: 0, lossOut: 0, rttMs: 0 };
  for (const stat of subscribe?.values() ?? []) {
    if (stat.type === "inbound-rtp") {
      total.lost += stat.packetsLost ?? 0;
      total.received += stat.packetsReceived ?? 0;
      total.frozen += stat.totalFreezesDuration ?? 0;
    }
  }
  for (const stat of [...(publish?.values() ?? []), ...(subscribe?.values() ?? [])]) {
    if (stat.type === "remote-inbound-rtp") total.lossOut = Math.max(total.lossOut, stat.fractionLost ?? 0);
    if (stat.type === "candidate-pair" && stat.nominated) total.rttMs = Math.max(total.rttMs, (stat.currentRoundTripTime ?? 0) * 1000);
  }
  return total;
}
