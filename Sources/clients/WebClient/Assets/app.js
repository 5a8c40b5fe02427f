// app.js: the page at `/`, on top of roost.js. It takes its wishes from the address, after `?` or `#`: docs/web-client.md has them.
// `window.roost` holds `{client, room, call}` for the console.
import { grid } from "./grid.js"; // before the chat, which measures what tiles have become: else they are laid out twice
import { onChatKey, sendChat, toggleChat } from "./chat.js";
import { toggleHand } from "./hands.js";
import { drawWith, here } from "./here.js";
import { goAway, goOffline, stopWaiting, submitForm } from "./lobby.js";
import { fillDevices, isPreviewing, mayPreviewUnasked, startPreview } from "./media.js";
import { $, fragment, memory, onSubmit, wishes } from "./page.js";
import { crashedIn, noteSeat } from "./seat.js";
import { changeDevice, toggle, toggleScreen } from "./sending.js";
import { copyInvite, draw, leave } from "./stage.js";
import { onTabKey, showTab } from "./tabs.js";
import { fullScreen, onTileClick, toggleView, turnPage } from "./viewing.js";

function onKey(event) {
  if (!here.room || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape" && $("chat").contains(document.activeElement)) return toggleChat(false);
  if (event.target.closest("input, select, textarea")) return;
  const run = { m: () => toggle("audio"), v: () => toggle("video"), c: () => toggleChat(), h: () => here.call || toggleHand(), i: () => here.call && here.calls.showInviteDialog(), ...ofTiles(event) }[event.key.toLowerCase()];
  if (!run || event.repeat) return;
  event.preventDefault();
  run();
}

/** Keys of the tiles: pages, and full screen for the one that has the focus. */
function ofTiles({ target }) {
  const key = target.closest(".tile")?.dataset.key;
  return {
    ...(grid.pages > 1 && { arrowleft: () => turnPage(-1), arrowright: () => turnPage(1) }),
    ...(key && { f: () => fullScreen(key) }),
  };
}

drawWith(draw);
drawWith(noteSeat);
grid.actions = { stopSharing: toggleScreen, shown: (track, height) => here.room?.shown(track, height) };

const isLate = () => Boolean(here.room);

onSubmit("join-form", submitForm);
onSubmit("chat-form", sendChat);
for (const id of ["tab-room", "tab-calls"]) {
  $(id).onclick = () => showTab(id.slice(4));
  $(id).onkeydown = onTabKey;
}
$("preview-start").onclick = () => startPreview(isLate);
for (const id of ["microphone", "camera", "audio-only"]) {
  $(id).onchange = () => {
    $("camera").disabled = $("audio-only").checked;
    if (isPreviewing()) startPreview(isLate);
  };
}
$("microphone-now").onchange = () => changeDevice("audio", "microphone");
$("camera-now").onchange = () => changeDevice("video", "camera");
$("mic").onclick = () => toggle("audio");
$("cam").onclick = () => toggle("video");
$("screen").onclick = toggleScreen;
$("hand").onclick = toggleHand;
$("chat-toggle").onclick = () => toggleChat();
$("chat-close").onclick = () => toggleChat(false);
$("settings").onclick = () => $("devices").showModal();
$("chat-text").onkeydown = onChatKey;
$("grid").onclick = onTileClick;
$("view").onclick = toggleView;
$("receive").onchange = () => here.room?.receive($("receive").value);
$("pager-back").onclick = () => turnPage(-1);
$("pager-next").onclick = () => turnPage(1);
$("invite").onclick = copyInvite;
$("leave").onclick = () => (here.call ? here.calls.hangUp() : leave(null));
$("offline").onclick = goOffline;
$("waiting-stop").onclick = stopWaiting;

addEventListener("keydown", onKey);
addEventListener("pagehide", goAway);
addEventListener("hashchange", () => fragment().has("token") && location.reload()); // another link, in the same tab
addEventListener("pageshow", ({ persisted }) => persisted && location.reload()); // what was shown is over since it went away
navigator.mediaDevices?.addEventListener?.("devicechange", fillDevices);

$("name").value = wishes.get("name") ?? memory.get("name") ?? "";
$("room").value = wishes.get("room") ?? "demo";
$("dial-to").value = wishes.get("call") ?? "";
$("audio-only").checked = wishes.get("video") === "0";
$("camera").disabled = $("audio-only").checked;
if (here.returning) $("name").value = here.returning.name;
else if (crashedIn()) [$("name").value, $("room").value] = [crashedIn().name, crashedIn().room];
showTab(here.returning || (!crashedIn() && wishes.has("call") || wishes.get("online") === "1") ? "calls" : "room");

await fillDevices();
const unasked = here.returning || crashedIn() || wishes.get("autojoin") === "1" || wishes.get("online") === "1";
if (unasked && $("name").value) await submitForm();
else if (await mayPreviewUnasked()) await startPreview(isLate);
if (here.online && !here.room && wishes.get("call")) $("dial-form").requestSubmit();
