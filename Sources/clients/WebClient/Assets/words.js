// words.js: what is said about members, records and times.
import { reasonSentence } from "./roost.js";

const STATES = {
  inviting: "Calling…", ringing: "Ringing…", busy_ringing: "In another call, but ringing…", connecting: "Connecting…",
  joined: "In the call", reconnecting: "Reconnecting…", declined: "Declined", no_answer: "No answer", left: "Left",
  lost: "Lost the connection", cancelled: "Called off", busy: "In another call", answered_by_other: "Somebody else answered",
  unreachable: "Cannot be reached", removed: "Removed",
};

/** How it stands with a member, in a few words. */
export function stateOf({ state, text, push }) {
  if (state === "inviting" && push) return "Being woken by a push message…";
  const words = STATES[state] ?? state;
  return text && (state === "declined" || state === "left") ? `${words}: “${text}”` : words;
}

/** Whom to say: a name if one is known. */
export const nameOf = (call, user) => call.members.get(user)?.displayName || user;

/** Whether one calls, and nobody has been in it with us yet. */
export const isUnanswered = (call) => Boolean(call?.isOutgoing && !call.isOver && call.others.every(({ joinedAt, state }) => !joinedAt && state !== "connecting"));

/** “Ben”, “Ben and Cleo”, “Ben, Cleo and 3 more”. */
export function list(names) {
  if (names.length <= 1) return names[0] ?? "";
  if (names.length <= 3) return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
  return `${names.slice(0, 2).join(", ")} and ${names.length - 2} more`;
}

/** How a call that is over came out, for the caller or the called. */
export function outcome(call) {
  const other = call.by && call.by !== call.self?.user ? call.by : call.others[0]?.user;
  // Of who declined, his words; a call that one cancels oneself says nothing of what somebody answered before.
  const said = call.text || (call.reason === "rejected" && call.others.find(({ text }) => text)?.text);
  const words = call.by === call.self?.user && call.reason === "hangup" ? "You hung up." : reasonSentence(call.reason, {
    who: other ? nameOf(call, other) : undefined, outgoing: call.isOutgoing,
  });
  return said && said !== call.self?.text ? `${words} “${said}”` : words;
}

/** Whether it is a call one would want to know of: for the caller, that nobody answered is no missed call. */
export const isMissed = ({ direction, result }) => direction === "in" && result === "missed";

/** How a call that was not answered came out for who called. */
const UNANSWERED = { no_answer: "No answer", busy: "Busy", cancelled: "You cancelled", unreachable: "Could not be reached", rejected: "Declined" };

/** A line in the list of calls. @returns {{icon: "in"|"out"|"missed", words: string}} */
export function recordWords(record, clock) {
  const { direction, result, why, reason, elsewhere, durationMs } = record;
  const on = elsewhere ? " on another device" : "";
  if (isMissed(record)) return { icon: "missed", words: why === "busy" ? "Missed while you were in another call" : "Missed" };
  if (result === "answered") {
    return { icon: direction, words: `${direction === "out" ? "Outgoing" : "Incoming"}${on}${durationMs > 0 ? `, ${clock(durationMs)}` : ""}` };
  }
  if (result === "declined") return { icon: direction, words: direction === "out" ? "Declined" : `You declined${on}` };
  return { icon: direction, words: UNANSWERED[why ?? reason] ?? "Did not come about" };
}

/** Today the time, before that the day. */
export function when(ms, now = Date.now()) {
  const date = new Date(ms);
  const today = new Date(now).toDateString() === date.toDateString();
  return today ? date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }) : date.toLocaleDateString([], { day: "numeric", month: "short" });
}

/** What the server finds wrong with a line: of one's own, and of somebody else's. */
const REASONS = {
  interrupted: ["Nothing of what you send arrives.", "Nothing of what they send arrives."],
  loss: ["Part of what you send gets lost on your line.", "Part of what they send gets lost on their line."],
  delay: ["Your line takes long.", "Their line takes long."],
};
/** The same on the way to oneself. */
const DOWN = {
  interrupted: "Nothing arrives on your line.",
  loss: "Part of what is sent to you gets lost on your line.",
  bandwidth: "Your line does not carry all pictures: some are paused.",
  stalled: "Pictures stand still on your line.",
  delay: "Your line takes long.",
};

/** What of a tile does not come though its owner shows it; "" where nothing is missing. @param {(?Track)[]} tracks @returns {string} */
export function missingLine(tracks) {
  const [first] = tracks.filter((track) => track?.missing && !track.muted);
  if (!first) return "";
  if (first.kind === "audio") return "no sound of theirs arrives";
  return first.missing === "nothing" ? "no picture of theirs arrives" : "their picture cannot be shown yet";
}

/** @param {boolean} isSelf @param {{reason?: string, way?: string}} seen @returns {string} a sentence: whose line it is, and what is wrong with it */
export function weakLine(isSelf, { reason, way }) {
  const words = way === "down" ? DOWN[reason] : REASONS[reason]?.[isSelf ? 0 : 1];
  return words ?? (isSelf ? "Your line is weak." : "Their line is weak.");
}
