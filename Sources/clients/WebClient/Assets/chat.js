// chat.js: the messages of a room, and to whom one writes.
import { $, sentence, toast } from "./page.js";
import { make, messageElement } from "./view.js";

let room = null;
let names = new Map(); // user → displayName, also of those who left
let unread = 0;
/** Whether the newest message stays in view: until somebody scrolls up from where it was seen. */
let isAtEnd = true;
let endedAt = 0;

/** This near to the end counts as there, pixels. */
const END = 40;
/** A message that is being written has as many lines in sight. */
const LINES = 5;

$("messages").addEventListener("scroll", look);
new ResizeObserver(keepEnd).observe($("messages"));
$("chat-text").addEventListener("input", fitText);

/** A room was entered. */
export function openChat(entered, isShown) {
  room = entered;
  names = new Map();
  $("messages").replaceChildren();
  $("chat").hidden = !isShown;
  [isAtEnd, endedAt] = [true, 0];
  write("");
  showUnread(0);
}

export function showPeople(people) {
  for (const { user, displayName } of people) names.set(user, displayName || user);
  showAddressees(people);
}

function showAddressees(people) {
  const select = $("chat-to");
  const chosen = select.value;
  const others = people.filter(({ isSelf }) => !isSelf).map(({ user }) => make("option", { value: user }, names.get(user)));
  const same = [...select.options].slice(1).every((option, index) => option.value === others[index]?.value && option.text === others[index].text);
  if (same && select.options.length === others.length + 1) return; // do not pull a list away that somebody has open
  select.replaceChildren(make("option", { value: "" }, "everybody"), ...others);
  select.value = others.some(({ value }) => value === chosen) ? chosen : "";
}

export function showHistory() {
  look();
  const { scrollTop } = $("messages");
  $("messages").replaceChildren(...room.chat.map(element));
  $("messages").scrollTop = scrollTop;
  keepEnd();
}

function element(message) {
  const mine = message.from === room.self?.user;
  const to = (message.to ?? []).map((user) => (user === room.self?.user ? "you" : names.get(user) ?? user)).join(", ");
  return messageElement(message, message.displayName ?? names.get(message.from) ?? message.from, to, mine);
}

/** The browser tells of scrolling with the next frame, and a message may come before that. */
function look() {
  const { scrollHeight, scrollTop, clientHeight } = $("messages");
  if (clientHeight === 0) return; // not shown
  if (scrollHeight - scrollTop - clientHeight <= END) isAtEnd = true;
  else if (scrollTop < endedAt) isAtEnd = false; // less room alone does not scroll
}

function keepEnd() {
  if (!isAtEnd) return;
  $("messages").scrollTop = $("messages").scrollHeight;
  endedAt = $("messages").scrollTop;
}

function goToEnd() {
  isAtEnd = true;
  keepEnd();
}

export function received(message) {
  look();
  $("messages").append(element(message));
  while ($("messages").children.length > room.chat.length) $("messages").firstChild.remove();
  if (message.from === room.self?.user) goToEnd();
  else keepEnd();
  if ($("chat").hidden) showUnread(unread + 1);
}

function showUnread(count) {
  unread = count;
  $("unread").textContent = String(count);
  $("unread").hidden = count === 0;
  $("chat-toggle").setAttribute("aria-label", count ? `Chat, ${count} unread` : "Chat");
}

/** Moderators may keep it to themselves. */
export function allowWriting(isAllowed) {
  $("chat-text").disabled = !isAllowed;
  $("chat-text").placeholder = isAllowed ? "Write a message" : "Only moderators may write now";
}

export function toggleChat(open = $("chat").hidden) {
  $("chat").hidden = !open;
  $("chat-toggle").setAttribute("aria-expanded", String(open));
  if (open) {
    showUnread(0);
    goToEnd();
    $("chat-text").focus();
  } else {
    $("chat-toggle").focus();
  }
}

export async function sendChat() {
  const text = $("chat-text").value.trim();
  if (!text) return;
  const to = $("chat-to").value;
  write("");
  try {
    await room.sendChat(text, { to: to ? [to] : undefined });
  } catch (error) {
    write($("chat-text").value || text);
    toast(sentence(error));
  }
}

function write(text) {
  $("chat-text").value = text;
  fitText();
}

/** The field grows with what is written. */
function fitText() {
  $("chat-text").rows = Math.min(LINES, $("chat-text").value.split("\n").length);
}

/** Enter sends, and with Shift makes a line. Where Enter ends the choice of a letter, as for Chinese, it does neither. */
export function onChatKey(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  $("chat-form").requestSubmit();
}
