// page.js: small things that all modules of the page use.
import { RoostError } from "./roost.js";

export const $ = (id) => document.getElementById(id);

/** What a browser or a tab remembers; storage may be switched off. */
const remembering = (storage) => ({
  get(key) {
    try {
      return storage().getItem(`roost.${key}`);
    } catch {
      return null;
    }
  },
  set(key, value) {
    try {
      if (value === null) storage().removeItem(`roost.${key}`);
      else storage().setItem(`roost.${key}`, value);
    } catch { /* the same */ }
  },
});

/** What this browser remembers. */
export const memory = remembering(() => localStorage);
/** What this tab remembers; a copy of it where the tab is duplicated. */
export const memoryOfTab = remembering(() => sessionStorage);

/** What this tab remembers, also when it is loaded again: one thing, taken once. */
export const bookmark = {
  set: (value) => memoryOfTab.set("call", JSON.stringify(value)),
  take() {
    const text = memoryOfTab.get("call");
    memoryOfTab.set("call", null);
    try {
      return JSON.parse(text);
    } catch {
      return null;
    }
  },
};

/** What stands behind the `#` of the address. */
export const fragment = () => new URLSearchParams(location.hash.slice(1));

/**
 * Who one is to a server with keys. It comes behind the `#`, which no server is sent, and stands there no longer than it takes to read it.
 * The tab keeps it for when it is loaded again.
 */
export const token = takeToken();
export const wishes = new URLSearchParams(`${location.search.slice(1)}&${location.hash.slice(1)}`);

function takeToken() {
  const rest = fragment();
  const shown = rest.get("token");
  if (!shown) return memoryOfTab.get("token");
  rest.delete("token");
  history.replaceState(null, "", `${location.pathname}${location.search}${String(rest) && `#${rest}`}`);
  memoryOfTab.set("token", shown);
  return shown;
}

export const sentence = (error) => (error instanceof RoostError ? error.message : "Something went wrong. Please reload the page.");
export const announce = (text) => ($("announce").textContent = text);

let toastTimer;
export function toast(text) {
  $("toast").textContent = text;
  $("toast").classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => $("toast").classList.remove("shown"), 5000);
}

/** Several things may be wrong at once; the first in this order is shown. */
const troubles = { session: null, media: null, sound: null };
export function trouble(kind, text, action) {
  troubles[kind] = text ? { text, action } : null;
  const worst = Object.values(troubles).find(Boolean);
  $("banner").hidden = !worst;
  $("banner-text").textContent = worst?.text ?? "";
  $("banner-action").hidden = !worst?.action;
  $("banner-action").textContent = worst?.action?.label ?? "";
  $("banner-action").onclick = worst?.action?.run ?? null;
}

/** Whether something is wrong of that kind. @param {"session"|"media"|"sound"} kind */
export const isTroubled = (kind) => Boolean(troubles[kind]);

export function noTroubles() {
  for (const kind of Object.keys(troubles)) trouble(kind, null);
}

/** The user name that a name typed by a person stands for: “Anna Lee” is called as `anna-lee`, in the form that servers take (NFC). Commas stand between names. */
export const userOf = (name) => name.trim().toLowerCase().normalize().replace(/[\s,]+/g, "-");

/** The users whom somebody has written into a field, each once. */
export const usersIn = (field) => [...new Set($(field).value.split(",").map(userOf).filter(Boolean))];

/** 125000 → 2:05 */
export function clock(ms) {
  const seconds = Math.floor(ms / 1000);
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (value) => String(value).padStart(2, "0");
  return h ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** A form that a script looks after. */
export function onSubmit(form, run) {
  $(form).addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
}
