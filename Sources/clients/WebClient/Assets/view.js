// view.js: elements, names and messages. Everything a stranger wrote goes in as text, never as markup.
import { pieces } from "./links.js";

const SVG = "http://www.w3.org/2000/svg";

/** An element with properties and children; strings become text. */
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/**
 * Makes the children of an element those. What looks as before stays: it keeps the focus, and a finger that is on its way to a
 * button finds it there. So what a button does must follow from what is shown (`data-user`, `data-call`).
 */
export function fill(parent, children) {
  children.forEach((child, place) => {
    const before = parent.children[place];
    if (!before) parent.append(child);
    else if (!before.isEqualNode(child)) replace(before, child);
  });
  while (parent.children.length > children.length) parent.lastElementChild.remove();
}

/** Whoever had the focus on a button finds it on the one that says the same now. */
function replace(before, child) {
  const label = before.contains(document.activeElement) ? document.activeElement.ariaLabel : null;
  before.replaceWith(child);
  if (label) [child, ...child.querySelectorAll("button")].find(({ ariaLabel }) => ariaLabel === label)?.focus();
}

/** A picture of the page's own; with an empty label it is decoration. */
export function icon(name, label) {
  const svg = document.createElementNS(SVG, "svg");
  svg.classList.add("icon");
  if (label) {
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
  } else {
    svg.setAttribute("aria-hidden", "true");
  }
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#${name}`);
  svg.append(use);
  return svg;
}

export function initials(name) {
  const words = name.trim().split(/\s+/);
  return (words.length > 1 ? [words[0], words.at(-1)] : [words[0]]).map((word) => [...word][0] ?? "").join("").toUpperCase() || "?";
}

export function hue(name) {
  return [...name].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 360, 7);
}

/** Somebody's initials on his colour. */
export function avatar(name) {
  const circle = make("span", { className: "face", ariaHidden: "true" }, initials(name));
  circle.style.setProperty("--hue", hue(name));
  return circle;
}

/** A name, and below it how it stands. */
export const about = (name, state) => make("div", {}, make("strong", {}, name), make("span", { className: "state" }, state));

/** A chat message. @param {{text: string, ts: string|number, to?: string[]}} message @param {string} from @param {string} to "" for everybody */
export function messageElement(message, from, to, mine) {
  const time = new Date(message.ts);
  const who = make("div", { className: "who" }, make("strong", {}, mine ? "You" : from));
  if (to) who.append(" ", make("span", { className: "private" }, `only to ${to}`));
  if (!Number.isNaN(time.valueOf())) {
    who.append(" ", make("time", { dateTime: time.toISOString() }, time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })));
  }
  const item = make("li", { className: mine ? "mine" : "" }, who, make("p", { dir: "auto" }, ...pieces(message.text).map(piece)));
  item.dataset.from = from;
  return item;
}

/** Of a message nothing but an address becomes more than text: it opens in a new tab, which learns nothing of this one. */
function piece({ text, href }) {
  return href ? make("a", { href, target: "_blank", rel: "noopener noreferrer", dir: "ltr" }, text) : text;
}
