// moderating.js: what who moderates a room sees: the menu of each person, that of the room, who waits at the door, who is banned.
// Loaded for moderators alone. Names come from others, and go in as text.
import { drawWith, here } from "./here.js";
import { moment } from "./errors.js";
import { $, sentence, toast } from "./page.js";
import { about, avatar, fill, icon, make } from "./view.js";

/** So many of those who wait are named at once; the rest is counted. */
const NAMED = 3;
const HOUR_MS = 3_600_000;
/** For how long one is banned; null: until somebody lets them in again. */
const BANS = [["Ban for an hour", HOUR_MS], ["Ban for a day", 24 * HOUR_MS], ["Ban for good", null]];

/** So many bans a moderator is told of. */
const MOST_BANS = 100;

/** Whose menu is open. @type {?string} */
let opened = null;
/** Whether a ban is to hold for their address as well. */
let withAddress = false;

const close = make("button", { type: "button", className: "quiet round", ariaLabel: "Close", onclick: () => dialog.close() }, icon("i-close", ""));
const title = make("h2", { id: "moderation-title", tabIndex: -1 }, "People");
const ofRoom = make("div", { className: "chips", role: "group", ariaLabel: "For everybody" });
const people = make("ul", { className: "rows", ariaLabel: "People in the room" });
const banned = make("ul", { className: "rows", ariaLabel: "People who are banned" });
const ofBanned = make("section", { id: "bans" }, make("h3", {}, "Banned"), banned);
const dialog = make("dialog", { id: "moderation" }, make("header", {}, title, close), ofRoom, people, ofBanned);
dialog.setAttribute("aria-labelledby", title.id);
const button = make("button", { id: "moderate", type: "button", onclick: openDialog, ariaHasPopup: "dialog" }, icon("i-invite", ""), make("span", {}, "People"));
const knocks = make("ul", { id: "knocks", className: "rows", ariaLabel: "People who wait to be let in" });

document.body.append(dialog);
$("chat-toggle").before(button);
$("invited").before(knocks);
drawWith(show);

function openDialog() {
  opened = null;
  dialog.showModal();
  show();
  title.focus();
}

/** Shows it all as it is; nothing of it to who does not moderate any more. */
function show() {
  const { room } = here;
  const isShown = room.self?.role === "moderator";
  button.hidden = knocks.hidden = !isShown;
  if (!isShown) return dialog.close();
  showKnocks(room.moderation.waiting);
  if (!dialog.open) return;
  const hadFocus = document.activeElement;
  fill(ofRoom, roomTools(room));
  fill(people, inOrder([...room.participants.values()]).map((person) => row(room, person)));
  const bans = room.moderation.bans.filter(({ until }) => !(until <= here.client.session.serverNow));
  const more = bans.length >= MOST_BANS ? [make("li", {}, "There may be more: an operator sees all.")] : [];
  fill(banned, [...bans.map(ban), ...more]);
  ofBanned.hidden = bans.length === 0;
  if (document.activeElement !== hadFocus && !dialog.contains(document.activeElement)) title.focus(); // their row is gone
}

/** Raised hands first, in their order. */
const inOrder = (all) => all.sort((a, b) => (a.handRaisedAt ?? Infinity) - (b.handRaisedAt ?? Infinity) || Number(a.isSelf) - Number(b.isSelf));

async function run(action, options) {
  await here.room?.moderate(action, options).catch((error) => toast(sentence(error)));
}

/** @param {string} label @param {() => void} act @param {{pressed?: boolean, of?: string, className?: string}} [more] `of`: whose it is */
function tool(label, act, { pressed, of = "", className = "chip" } = {}) {
  const made = make("button", { type: "button", className, ariaLabel: of ? `${label}: ${of}` : label, onclick: act }, label);
  if (pressed !== undefined) made.ariaPressed = String(pressed);
  return made;
}

function roomTools({ media, moderation: { locked, lobby, chatDisabled, holds }, participants }) {
  const held = holds.some(({ kind, everybody }) => kind === "audio" && everybody);
  const hands = [...participants.values()].some(({ handRaisedAt }) => handRaisedAt);
  return [
    tool("Mute all", () => run("mute")),
    tool("Nobody may unmute", () => run("mute", { hold: !held }), { pressed: held }),
    ...(here.call ? [] : [
      tool("Lock the room", () => run(locked ? "unlock" : "lock"), { pressed: locked }),
      tool("Lobby", () => run(lobby ? "unlock" : "lobby"), { pressed: lobby }),
      tool("Sound alone", () => run("media", { media: media === "audio" ? "video" : "audio" }), { pressed: media === "audio" }),
    ]),
    tool("Disable chat", () => run(chatDisabled ? "enableChat" : "disableChat"), { pressed: chatDisabled }),
    ...(hands ? [tool("Lower all hands", () => run("lowerHand"))] : []),
    tool("End for all", () => confirm("End this meeting for everybody?") && run("end"), { className: "chip danger" }),
  ];
}

function row(room, person) {
  const { user, displayName, isSelf } = person;
  const name = displayName || user;
  const item = make("li", {}, avatar(name), about(isSelf ? `${name} (you)` : name, standing(room, person)));
  item.dataset.user = user;
  if (isSelf) return item;
  const isOpen = opened === user;
  const toggle = tool("Options", () => {
    opened = isOpen ? null : user;
    withAddress = false;
    show();
  }, { of: name });
  toggle.ariaExpanded = String(isOpen);
  item.append(toggle);
  if (isOpen) item.append(make("div", { className: "chips", role: "group", ariaLabel: `Options: ${name}` }, ...options(room, person, name)));
  return item;
}

/** How it is with somebody, in a few words. */
function standing(room, { user, isSelf, role, handRaisedAt, tracks, state }) {
  const sent = isSelf ? [...room.localTracks] : [...tracks.values()];
  const has = (wanted) => sent.some(({ kind, muted }) => kind === wanted && !muted);
  return [
    role, handRaisedAt && "hand raised", has("audio") ? "microphone on" : room.isHeld(user, "audio") ? "may not unmute" : "microphone off",
    has("video") ? "camera on" : "camera off", state === "reconnecting" && "reconnecting",
  ].filter(Boolean).join(", ");
}

function options(room, { user, role, handRaisedAt, tracks }, of) {
  const held = room.isHeld(user, "audio");
  const sends = (wanted) => [...tracks.values()].some(({ kind, muted }) => kind === wanted && !muted);
  const give = (wanted) => () => run("role", { user, role: role === wanted ? "participant" : wanted });
  return [
    ...(sends("audio") ? [tool("Mute", () => run("mute", { user }), { of })] : []),
    tool("May not unmute", () => run("mute", { user, hold: !held }), { of, pressed: held }),
    ...(sends("video") ? [tool("Stop video", () => run("stopVideo", { user }), { of })] : []),
    ...(handRaisedAt ? [tool("Lower hand", () => run("lowerHand", { user }), { of })] : []),
    tool("Speaker", give("speaker"), { of, pressed: role === "speaker" }),
    tool("Moderator", give("moderator"), { of, pressed: role === "moderator" }),
    tool("Remove", () => run("kick", { user }), { of, className: "chip danger" }),
    ...(here.call ? [] : [...BANS.map(([label, time]) => tool(label, () => {
      const until = time && { until: Math.round(here.client.session.serverNow) + time };
      run("ban", { user, ...until, ...(withAddress && { address: true }) });
      withAddress = false;
      show();
    }, { of, className: "chip danger" })),
    tool("Ban the address too, a day at most", () => {
      withAddress = !withAddress;
      show();
    }, { of, pressed: withAddress })]),
  ];
}

function ban({ user, until }) {
  const time = until === undefined ? "until somebody lets them in again" : `until ${moment(until)}`;
  const item = make("li", {}, avatar(user), about(user, time), tool("Let in again", () => run("unban", { user }), { of: user, className: "small" }));
  item.dataset.user = user;
  return item;
}

function showKnocks(waiting) {
  const hadFocus = knocks.contains(document.activeElement);
  const more = waiting.length > NAMED ? [`and ${waiting.length - NAMED} more`] : [];
  const all = make("li", {}, ...more, tool("Let all in", () => run("admit"), { className: "small" }));
  fill(knocks, [...waiting.slice(0, NAMED).map(knock), ...(waiting.length > 1 ? [all] : [])]);
  knocks.hidden = waiting.length === 0;
  if (hadFocus && !knocks.contains(document.activeElement)) (knocks.querySelector("button") ?? $("room-title")).focus();
}

function knock({ user, displayName }) {
  const of = displayName || user;
  const item = make("li", {}, avatar(of), about(of, "waits to be let in"),
    tool("Let in", () => run("admit", { user }), { of, className: "primary small" }),
    tool("Refuse", () => run("deny", { user }), { of, className: "quiet small" }));
  item.dataset.user = user;
  return item;
}
