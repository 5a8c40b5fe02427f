// moderation.js: what moderators have made of a room, kept up to date by what the server tells of it.

/** As one sees it: `locked`, `lobby`, `chatDisabled`, `held` (kinds that oneself may not unmute); and for moderators `holds`, `waiting` and `bans`. */
export const moderationOf = (wire) => ({ locked: false, lobby: false, chatDisabled: false, held: [], holds: [], waiting: [], bans: [], ...wire });

/** What a door makes of it. Who has waited at another one is not there any more. */
const DOORS = { lock: { locked: true, lobby: false }, lobby: { locked: false, lobby: true }, unlock: { locked: false, lobby: false } };

/**
 * What it is after `room.moderated`. Who is made a moderator is told the rest by a snapshot.
 * @param {object} now @param {{action: string, user?: string, kind?: string, hold?: boolean, until?: number}} event @param {?Participant} self
 */
export function afterModerated(now, { action, user, kind, hold, until }, self) {
  const door = DOORS[action];
  if (door) return { ...now, ...door, waiting: door.lobby && now.lobby ? now.waiting : [] };
  if (action.endsWith("Chat")) return { ...now, chatDisabled: action === "disableChat" };
  if (action === "admit" || action === "deny") return { ...now, waiting: without(now.waiting, user) };
  if (action === "ban" || action === "unban") return { ...now, bans: bansAfter(now.bans, action, user, until, self) };
  if (hold === undefined) return now;
  if (self?.role === "moderator") return { ...now, holds: holdsAfter(now.holds, user, kind, hold) };
  const isOfOneself = user === undefined || user === self?.user;
  return isOfOneself ? { ...now, held: [...now.held.filter((held) => held !== kind), ...(hold ? [kind] : [])] } : now;
}

/** What it is after `room.knock`. */
export function afterKnock(now, { user, displayName, gone }) {
  return { ...now, waiting: [...without(now.waiting, user), ...(gone ? [] : [{ user, displayName }])] };
}

const without = (all, user) => all.filter((one) => one.user !== user);

/** Moderators alone keep a list; in it are those of `room.join`, and who was banned since. */
function bansAfter(bans, action, user, until, self) {
  if (self?.role !== "moderator") return bans;
  return [...without(bans, user), ...(action === "ban" ? [until === undefined ? { user } : { user, until }] : [])];
}

/** Whether somebody may not unmute. @param {{kind: string, everybody: boolean, users: string[]}[]} holds */
export const isHeld = (holds, user, kind) => holds.some((hold) => hold.kind === kind && hold.everybody !== hold.users.includes(user));

function holdsAfter(holds, user, kind, hold) {
  const others = holds.filter((one) => one.kind !== kind);
  if (user === undefined) return hold ? [...others, { kind, everybody: true, users: [] }] : others;
  if (isHeld(holds, user, kind) === hold) return holds;
  const { everybody, users } = holds.find((one) => one.kind === kind) ?? { everybody: false, users: [] };
  const named = users.includes(user) ? users.filter((one) => one !== user) : [...users, user];
  return everybody || named.length ? [...others, { kind, everybody, users: named }] : others;
}
