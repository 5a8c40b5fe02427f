// chat.js: the messages of a room, and to whom one writes.
import { $, sentence, toast } from "./page.js";
import { make, messageElement } from "./view.js";

let room = null;
let names = new Map(); // user → displayName, also of those who left
let unread = 0;

/** A room was entered. */
export function openChat(entered, isShown) {
  room = entered;
  names = new Map();
  $("messages").replaceChildren();
  $("chat").hidden = !isShown;
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
  $("messages").replaceChildren(...room.chat.map(element));
  scrollChat();
}

function element(message) {
  const mine = message.from === room.self?.user;
  const to = (message.to ?? []).map((user) => (user === room.self?.user ? "you" : names.get(user) ?? user)).join(", ");
  return messageElement(message, message.displayName ?? names.get(message.from) ?? message.from, to, mine);
}

function scrollChat() {
  $("messages").scrollTop = $("messages").scrollHeight;
}

export function received(message) {
  $("messages").append(element(message));
  while ($("messages").children.length > room.chat.length) $("messages").firstChild.remove();
  scrollChat();
  if ($("chat").hidden) showUnread(unread + 1);
}

function showUnread(count) {
  unread = count;
  $("unread").textContent = String(count);
  $("unread").hidden = count === 0;
  $("chat-toggle").setAttribute("aria-label", count ? `Chat, ${count} unread` : "Chat");
}

export function toggleChat(open = $("chat").hidden) {
  $("chat").hidden = !open;
  $("chat-toggle").setAttribute("aria-expanded", String(open));
  if (open) {
    showUnread(0);
    scrollChat();
    $("chat-text").focus();
  } else {
    $("chat-toggle").focus();
  }
}

export async function sendChat() {
  const text = $("chat-text").value.trim();
  if (!text) return;
  const to = $("chat-to").value;
  $("chat-text").value = "";
  try {
    await room.sendChat(text, { to: to ? [to] : undefined });
  } catch (error) {
    $("chat-text").value ||= text;
    toast(sentence(error));
  }
}
