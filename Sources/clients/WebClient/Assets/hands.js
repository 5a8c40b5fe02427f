// hands.js: raised hands: one's own, and those of others.
import { here, render } from "./here.js";
import { $, announce, sentence, toast } from "./page.js";

const isUp = () => Boolean(here.room.self?.handRaisedAt);

/** The button; in calls nobody waits for the word. */
export function showHand() {
  $("hand").hidden = Boolean(here.call);
  $("hand").setAttribute("aria-pressed", String(isUp()));
  $("hand").querySelector("span").textContent = isUp() ? "Lower hand" : "Raise hand";
}

export async function toggleHand() {
  await here.room.raiseHand(!isUp()).catch((error) => toast(sentence(error)));
}

export function onHand({ participant: { displayName, isSelf, handRaisedAt } }) {
  if (isSelf) announce(handRaisedAt ? "Your hand is raised." : "Your hand is down.");
  else if (handRaisedAt) toast(`${displayName} raised a hand.`);
  render();
}
