// tabs.js: the two tabs of the lobby, for rooms and for calls, and what went wrong there.
import { here } from "./here.js";
import { $ } from "./page.js";

let tab = "room";
let missed = 0;

export function showTab(chosen = tab) {
  tab = chosen;
  const calls = tab === "calls";
  for (const [id, selected] of [["tab-room", !calls], ["tab-calls", calls]]) {
    $(id).setAttribute("aria-selected", String(selected));
    $(id).tabIndex = selected ? 0 : -1;
  }
  $("join-form").hidden = calls && here.online;
  $("phone").hidden = !(calls && here.online);
  $("room-label").hidden = calls;
  $("room").required = !calls;
  $("reach-hint").hidden = !calls;
  $("join").textContent = calls ? "Go online" : "Join";
  $("tab-calls").setAttribute("aria-controls", here.online ? "phone" : "join-form");
  if (calls) countMissed(-missed);
  if (calls && here.online) here.calls.look();
}

/** Calls that were missed, on the tab, as long as nobody has looked. */
export function countMissed(more) {
  missed = tab === "calls" && !$("lobby").hidden ? 0 : Math.max(0, missed + more);
  $("missed").textContent = String(missed);
  $("missed").hidden = missed === 0;
  $("missed").setAttribute("aria-label", `${missed} missed`);
}

export function lobbyError(text) {
  $("join-error").textContent = text;
  $("join-error").hidden = !text;
}

/** Whether what is shown is for calls. */
export const isForCalls = () => tab === "calls";

/** Arrows move between the tabs, as they do in lists of tabs. */
export function onTabKey(event) {
  if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
  showTab(tab === "room" ? "calls" : "room");
  $(`tab-${tab}`).focus();
}
