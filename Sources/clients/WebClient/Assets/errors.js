// errors.js: everything that goes wrong, with a sentence for people for each code of the protocol.

const seats = (d) => (d.limit === undefined ? "" : `: ${d.joined ?? d.count ?? d.limit} of ${d.limit} seats are taken`);

/** What is wrong with a token, which people know as the link that they were sent. */
const TOKENS = {
  token_missing: "This server lets in who was invited. Please open the link that you were sent.",
  token_invalid: "Your invitation was not accepted. Please ask for another link.",
  token_expired: "Your invitation has run out. Please ask for another link.",
  token_revoked: "Your invitation was taken back.",
  token_user: "Your invitation is for somebody else. Please ask for a link of your own.",
};
/** What may not be done, by what stands in the way. */
const FORBIDDEN = {
  room: "Your invitation is not good for this room.",
  denied: "You were not let into this room.",
  held: "A moderator has muted you. You cannot switch it on yourself.",
  chat_disabled: "Only moderators may write now.",
  moderate: "You do not moderate this room.",
  self: "You cannot do that to yourself.",
  moderator: "That cannot be done to somebody who moderates by invitation.",
  address: "Their address cannot be kept out, since others come from it too. Nothing was done.",
  publishers: "Nobody else may speak here now.",
};
const GRANT = /^(join|publish|subscribe|chat|call|invite)\b/;
const who = (d) => d.who ?? "A moderator";
const until = (d) => (d.until ? ` before ${moment(d.until)}` : "");
/** The time of day; with the date where it is not today. */
export const moment = (time) => (new Date(time).toDateString() === new Date().toDateString()
  ? new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })
  : new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }));
/** Who put one out of a room, and how. */
const ENDINGS = {
  kick: (d) => `${who(d)} removed you from this room.`,
  ban: (d) => `${who(d)} removed you from this room. You cannot come back${until(d)}.`,
  end: (d) => `${who(d)} ended this meeting for everybody.`,
};

const LONG = { displayName: "Your name", user: "Your name", room: "The name of the room" };

/** Sentences for people by code; a function gets the error's `data`, and what the server said. Codes below zero are the client's own. */
const SENTENCES = {
  "-32700": "The server could not read what this page sent. Please reload the page.",
  "-32600": "The server did not accept what this page sent. Please reload the page.",
  "-32601": "This server does not know how to do that. It may be older than this page.",
  "-32602": (d) => `The server did not accept a value${d.field ? ` (${d.field})` : ""}. Please check what you entered.`,
  1003: "You are not signed in any more. Please join again.",
  1004: (d) => TOKENS[d.reason] ?? "Signing in failed. Please check your name or invitation.",
  1005: (d) => FORBIDDEN[d.reason] ?? (GRANT.test(d.reason) ? "Your invitation does not allow that." : "You are not allowed to do that here."),
  1006: (d) => `That was too often in a short time. Please wait ${wait(d, "a moment")} and try again.`,
  1007: "The connection was lost for too long. Please join again.",
  1008: "You joined from another window or device, so this one was disconnected.",
  1009: "This server does not support that.",
  1010: (d) => (LONG[d.field] || /^(to|users)\[/.test(d.field)
    ? `${LONG[d.field] ?? "That name"} is too long. Please choose a shorter one.` : "That is too large to be sent."),
  1011: (d, said) => said || "You are not allowed to do that here.",
  1012: (d) => (d.reason === "left" ? "They left before they could answer." : "There was no answer. Please try again."),
  2001: "There is no room of that name.",
  2002: (d) => `Room is full${seats(d)}.`,
  2003: "Somebody in this room already has that name. Please choose another one. If it was you a moment ago, wait some seconds.",
  2004: "You are already in this room with another device.",
  2005: "You are not in this room.",
  2006: (d) => ENDINGS[d.action]?.(d) ?? ({
    lost: "The connection was lost for too long. Please join again.",
    removed: "You were removed from this room.",
    replaced: "You joined from another window or device, so this one was disconnected.",
  })[d.reason] ?? "This room was closed.",
  2007: "This room is locked. Nobody else can join now.",
  2008: "Please wait until somebody lets you in.",
  2009: (d) => `${d.reason === "address" ? "Nobody may come into this room from your address" : "You were banned from this room. You cannot come in"}${until(d)}.`,
  3001: "There is no such call.",
  3002: "This call is over.",
  3003: "That is not possible at this moment of the call.",
  3004: "This call was answered elsewhere.",
  3005: "This call was declined on another device.",
  3006: "You are not in this call.",
  3007: "You were not invited to this call.",
  3008: "There is nobody of that name.",
  3011: "You are in a call already.",
  3012: "You cannot call yourself.",
  3013: (d) => `The call is full${seats(d)}.`,
  3014: (d) => `Too many people were invited at once${d.limit ? ` (at most ${d.limit})` : ""}.`,
  3015: "Another change of audio or video is still waiting for an answer.",
  3016: "Only audio is allowed in this room.",
  4001: "This audio or video is not there any more.",
  4002: "This audio or video is not being received.",
  4003: "Too many audio or video tracks at once.",
  4004: "This browser and the server have no audio or video format in common.",
  4005: "Audio or video could not be set up.",
  4006: (d) => ({
    consent: "Audio and video are interrupted. They come back when your connection does.",
    dtls: "Audio and video could not be secured. A firewall may disturb them; joining again may help.",
    sdp: "Audio and video could not be set up. Please join again.",
    route: "The others cannot see or hear all of what you send. Turn it off and on again.",
  })[d.step] ?? "Audio and video cannot reach the server. A firewall may block UDP.",
  4007: "This picture quality is not available.",
  5000: "Something went wrong on the server.",
  5001: (d) => `The server is about to restart. Please try again in ${wait(d, "a minute")}.`,
  5002: (d) => `${d.reason === "application" ? "This cannot be checked right now" : "The server is too busy"}. Please try again in ${wait(d, "a moment")}.`,
  "-1": "The server cannot be reached. Please check your connection.",
  "-2": "The server did not answer in time.",
  "-3": (d) => TOKENS[d.reason] ?? "The server closed the connection.",
  "-4": "The browser was not allowed to use the camera or microphone. Allow it in the address bar and try again.",
  "-5": "No camera or microphone was found.",
  "-6": "The camera or microphone is used by another program.",
  "-7": "Camera and microphone work only on a page with https:// or on this machine itself.",
};

const NAMES = {
  "-1": "UNREACHABLE", "-2": "TIMEOUT", "-3": "CLOSED",
  "-4": "DEVICE_DENIED", "-5": "DEVICE_NOT_FOUND", "-6": "DEVICE_BUSY", "-7": "INSECURE_PAGE",
};

function wait(data, otherwise) {
  const seconds = Math.ceil((data.retryAfterMs ?? 0) / 1000);
  return seconds > 0 ? `${seconds} ${seconds === 1 ? "second" : "seconds"}` : otherwise;
}

/**
 * Everything that goes wrong, as one type.
 * @property {number} code  the protocol's number; below zero (not −326xx) for what happened in the browser
 * @property {string} name  the protocol's name, such as `ROOM_FULL`; or `UNREACHABLE`, `TIMEOUT`, `CLOSED`,
 *   `DEVICE_DENIED`, `DEVICE_NOT_FOUND`, `DEVICE_BUSY`, `INSECURE_PAGE`
 * @property {string} message  a sentence for people
 * @property {string} detail  the server's own words, for logs
 * @property {object} data  the protocol's `data`: `retryable`, `retryAfterMs`, `limit`, `count` …
 */
export class RoostError extends Error {
  /** @param {number} code @param {string} [detail] @param {object} [data] */
  constructor(code, detail = "", data = {}) {
    const sentence = SENTENCES[code];
    super(typeof sentence === "function" ? sentence(data, detail) : sentence ?? (detail || "Something went wrong."));
    this.code = code;
    this.name = data.name ?? NAMES[code] ?? "ERROR";
    this.detail = detail;
    this.data = data;
  }

  /** Whether the same request may succeed a little later. @returns {boolean} */
  get retryable() {
    return this.data.retryable ?? (this.code === -1 || this.code === -2);
  }
}

/** `getUserMedia`'s errors in our words. @param {Error} error @returns {RoostError} */
export function deviceError(error) {
  const codes = { NotAllowedError: -4, SecurityError: -4, NotFoundError: -5, OverconstrainedError: -5, NotReadableError: -6, AbortError: -6 };
  return new RoostError(codes[error?.name] ?? -6, String(error?.message ?? error));
}

// ---- reasons

/** Why calls end, seen from one who is called or in it, and from one who called. `who` is a name for people. */
const REASONS = {
  hangup: [(who) => `${who} hung up.`, (who) => `${who} hung up.`],
  rejected: [() => "You declined the call.", (who) => `${who} declined the call.`],
  busy: [() => "You were in another call.", (who) => `${who} is in another call.`],
  no_answer: [() => "You did not answer.", (who) => `${who} did not answer.`],
  cancelled: [(who) => `${who} gave up calling.`, () => "You cancelled the call."],
  answered_elsewhere: [() => "You answered on another device.", () => "The call was answered on another device."],
  answered_by_other: [() => "Somebody else answered the call.", () => "Somebody else answered the call."],
  rejected_elsewhere: [() => "You declined on another device.", () => "The call was declined on another device."],
  rejected_by_other: [() => "Somebody else declined the call.", () => "Somebody else declined the call."],
  unreachable: [() => "You could not be reached.", (who) => `${who} cannot be reached at the moment.`],
  connect_failed: [() => "Audio and video could not be connected.", () => "Audio and video could not be connected."],
  disconnected: [() => "The connection was lost.", () => "The connection was lost."],
  stopped: [() => "The call was ended by the server.", () => "The call was ended by the server."],
  removed: [() => "You were removed from the call.", (who) => `${who} was removed from the call.`],
  replaced: [() => "You went on with the call on another device.", () => "You went on with the call on another device."],
  switched_call: [(who) => `${who} took another call.`, (who) => `${who} took another call.`],
  caller_lost: [(who) => `${who} lost the connection.`, () => "The connection was lost while it rang."],
  network_changed: [(who) => `${who}’s network changed.`, (who) => `${who}’s network changed.`],
  background: [(who) => `${who} left the app.`, (who) => `${who} left the app.`],
  call_ended: [() => "The call is over.", () => "The call is over."],
};

/**
 * A sentence for people about a reason of the protocol.
 * @param {string} reason as in `call.ended`, `call.stopped`, `member.*` and records
 * @param {{who?: string, outgoing?: boolean}} [options] the other's name; whether one called oneself
 * @returns {string}
 */
export function reasonSentence(reason, { who = "The other side", outgoing = false } = {}) {
  return REASONS[reason]?.[outgoing ? 1 : 0](who) ?? "The call is over.";
}
