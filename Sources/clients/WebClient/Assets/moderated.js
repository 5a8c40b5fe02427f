// moderated.js: what moderators do, in words. Loaded where one does something.
import { announce, toast } from "./page.js";

const ROLES = { moderator: "a moderator", speaker: "a speaker" };

/** For each action its words; "" where something else says it. `of` is whose: “your”, “Ben’s”, “everybody’s”. */
const WORDS = {
  mute: ({ by, whom, of, kind, hold }) => (hold === false ? `${by} allowed ${whom} to ${kind === "video" ? "show video" : "unmute"} again.`
    : kind === "video" ? `${by} stopped ${of} video.` : `${by} muted ${whom}.`) + mayNot(whom, hold, kind),
  stopVideo: (facts) => WORDS.mute(facts),
  kick: ({ by, whom }) => (whom === "you" ? "" : `${by} removed ${whom}.`),
  ban: ({ by, whom }) => (whom === "you" ? "" : `${by} removed ${whom}, who cannot come back for now.`),
  unban: ({ by, whom }) => `${by} allowed ${whom} to come back.`,
  lock: ({ by }) => `${by} locked the room: nobody else can come in.`,
  lobby: ({ by }) => `${by} opened a lobby: who comes waits to be let in.`,
  unlock: ({ by }) => `${by} opened the room for everybody.`,
  admit: ({ by, whom }) => `${by} let ${whom} in.`,
  deny: ({ by, whom }) => `${by} did not let ${whom} in.`,
  role: ({ by, whom, of, role }) => (ROLES[role] ? `${by} made ${whom} ${ROLES[role]}.` : `${by} ended ${of} role.`),
  disableChat: ({ by }) => `${by} closed the chat: only moderators may write.`,
  enableChat: ({ by }) => `${by} opened the chat for everybody.`,
  media: ({ by, media, wasMedia, limit }) => (media === wasMedia ? `${by} changed the room to ${limit} seats.`
    : media === "audio" ? `${by} switched the room to sound alone.` : `${by} allowed video in the room.`),
  lowerHand: ({ by, of }) => `${by} lowered ${of} hand.`,
  end: () => "",
};

function mayNot(whom, hold, kind) {
  if (!hold) return "";
  const what = kind === "video" ? "show video" : "unmute";
  if (whom === "everybody") return ` Nobody can ${what}.`;
  return ` ${whom === "you" ? "You" : whom} cannot ${what}.`;
}

/** A sentence about what was done, for who is in the room. @param {object} event `moderated` of a room */
export function inWords({ moderator, participant, user, displayName, ...facts }) {
  const by = moderator?.isSelf ? "You" : moderator?.displayName ?? "The operator";
  const name = displayName ?? user;
  const [whom, of] = user === undefined ? ["everybody", "everybody’s"] : participant?.isSelf ? ["you", "your"] : [name, `${name}’s`];
  return WORDS[facts.action]?.({ ...facts, by, whom, of }) ?? "";
}

/** Says it: to whom it is about, and of the room, so that it is seen; of others quietly. */
export function tell(event) {
  const words = inWords(event);
  const { user, participant, moderator } = event;
  if (words) (user === undefined || participant?.isSelf || moderator?.isSelf ? toast : announce)(words);
}
