// inviting.js: the dialog that rings more people into a call.
import { reasonSentence } from "./roost.js";
import { here, render } from "./here.js";
import { $, announce, sentence, toast } from "./page.js";
import { phone } from "./phone.js";
import { memberChoice } from "./ringing.js";
import { fill } from "./view.js";
import { list } from "./words.js";

/** What can be done about people of a call who are not in it. */
export const memberActions = { cancel: cancelInvite, again: (user) => invite([user]) };

export function showInviteDialog() {
  inviteError("");
  $("invite-dialog").showModal();
  $("invite-to").focus();
  phone.look().then(render);
  render();
}

export function renderInvite() {
  if (!$("invite-dialog").open || !here.call) return;
  fill($("invite-members"), here.call.others.map((member) => memberChoice(here.call, member, memberActions)));
  const inIt = new Set(here.call.members.keys());
  fill($("invite-people"), phone.people.filter((user) => !inIt.has(user)).slice(0, 8).map((user) => phone.chip(user, () => invite([user]))));
}

function inviteError(text) {
  $("invite-error").textContent = text;
  $("invite-error").hidden = !text;
}

function whyNot(user, error) {
  if (error.code === 3008) return `Nobody here is called ${user}.`;
  if (error.code === 3003 && error.data.reason === "unreachable") return reasonSentence("unreachable", { who: user, outgoing: true });
  return `${user} could not be called: ${error.message}`;
}

export async function invite(users) {
  inviteError("");
  phone.remember(users);
  try {
    const { busy, failed, invited } = await here.call.invite(users);
    for (const user of users) here.changedAt.set(user, performance.now());
    if (failed.length) inviteError(failed.map(({ user, error }) => whyNot(user, error)).join(" "));
    else if (busy.length) toast(`${list(busy)} ${busy.length > 1 ? "are" : "is"} in another call, and hears that you call.`);
    else if (invited.length) announce(`Calling ${list(invited)}.`);
    if (!failed.length) $("invite-to").value = "";
  } catch (error) {
    inviteError(sentence(error));
  }
  render();
}

async function cancelInvite(user) {
  await here.call.cancelInvite([user]).catch((error) => toast(sentence(error)));
  render();
}
