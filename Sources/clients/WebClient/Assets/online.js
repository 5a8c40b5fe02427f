// online.js: being reachable for calls by name. Loaded when somebody goes online, with all that only calls need.
import { answerRequest, showAsk } from "./asking.js";
import { enterAgain, hangUp, left, moveTo, onCallChanged, onIncoming, rememberLeg, rings } from "./calling.js";
import { drawWith, here } from "./here.js";
import { invite, memberActions, renderInvite, showInviteDialog } from "./inviting.js";
import { makeClient, setOnline } from "./lobby.js";
import { $, memory, onSubmit, userOf, usersIn } from "./page.js";
import { phone } from "./phone.js";
import { showInvited, showOutgoing, showTimer } from "./ringing.js";
import { countMissed } from "./tabs.js";
import * as tones from "./tones.js";

here.calls = {
  hangUp, left, showInviteDialog,
  look: () => phone.look(),
  offline() {
    rings.clear();
    phone.use(null);
  },
};
drawWith(() => {
  showOutgoing(here.call);
  $("leave").hidden = !$("outgoing").hidden; // there it says “Cancel”
  showInvited(here.call, here.changedAt, memberActions);
  showTimer(here.call);
  showAsk();
  renderInvite();
});
setInterval(() => here.room && showTimer(here.call), 1000);

onSubmit("invite-form", () => invite(usersIn("invite-to")));
$("add").onclick = showInviteDialog;
$("invite-close").onclick = () => $("invite-dialog").close();
$("outgoing-cancel").onclick = hangUp;
$("ask-yes").onclick = () => answerRequest("accept");
$("ask-no").onclick = () => answerRequest("reject");
addEventListener("pointerdown", tones.unlock);
addEventListener("keydown", tones.unlock);
addEventListener("visibilitychange", () => here.online && phone.look());

/** Be reachable, for as long as the page is open. */
export async function goOnline(name) {
  const hello = await connect(name);
  memory.set("name", name);
  if (here.returning) rememberLeg(here.returning.callId);
  setOnline(true);
  countMissed(hello.missed ?? 0);
  await phone.use(here.client, hello.missed);
  await comeBack(hello.current?.callId);
  if (hello.current && !here.room) await phone.look(); // a call that one may come back to
  await warnOfNamesakes(here.client);
}

/** Says hello as the device that this tab was before it was loaded again, if it was. */
async function connect(name) {
  const { deviceId, resumeToken } = here.returning ?? {};
  try {
    return await callable({ user: userOf(name), displayName: name, deviceId, resumeToken }).connect();
  } catch (error) {
    // Loaded again before the last hello was answered: the session that it began is in our way, and nobody knows its token.
    if (!here.returning || error.code !== 1005 || error.data?.reason !== "device_in_use") throw error;
    return callable({ user: userOf(name), displayName: name }).connect();
  }
}

function callable(identity) {
  const made = makeClient(identity);
  made.addEventListener("incomingCall", ({ detail }) => onIncoming(detail.call));
  made.addEventListener("callChanged", ({ detail }) => onCallChanged(detail.call));
  made.addEventListener("callMissed", () => countMissed(1));
  made.addEventListener("rejoined", () => here.call && rememberLeg(here.call.callId));
  return made;
}

/** The tab was loaded again in the middle of a call: it goes on, with what was sent before. */
async function comeBack(callId) {
  if (here.returning && here.returning.callId === callId) {
    const running = here.client.call(callId);
    await moveTo(running, () => enterAgain(running), here.returning.video, here.returning.muted);
  }
  here.returning = null;
}

/** Without passwords a name is all there is: whoever goes by the same one gets the same calls. */
async function warnOfNamesakes(made) {
  const [own] = await made.presence([made.user]).catch(() => []);
  if (own?.devices > 1 && !here.room) phone.status(`You are online as ${made.user} elsewhere, too: calls ring at both. If that is not you, choose another name.`);
}
