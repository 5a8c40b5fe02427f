// asking.js: what the other side of a call asks for: to switch on video, or to go on without.
import { here, render } from "./here.js";
import { $, sentence, toast } from "./page.js";
import { nameOf } from "./words.js";

let answeredRequest = null; // until the server says what comes of it

/** What the other side asks for, as long as it asks: also when one comes back in the meantime. */
export function showAsk() {
  const request = here.call?.mediaRequest;
  const isAsked = Boolean(request) && request.by !== here.client.user && request !== answeredRequest;
  const isNew = isAsked && $("ask").hidden;
  $("ask").hidden = !isAsked;
  if (!isAsked) return;
  const name = nameOf(here.call, request.by);
  $("ask-text").textContent = request.media === "video" ? `${name} asks to switch on video.` : `${name} asks to go on without video.`;
  // Not on an answer, where the next letter of a message would switch the camera on.
  if (isNew && !document.activeElement?.closest("input, select, textarea")) $("ask-text").focus();
}

export function answerRequest(action) {
  answeredRequest = here.call.mediaRequest;
  showAsk();
  // 3003: taken back in the very moment in which it was answered.
  here.call.mediaChange(action).catch((error) => {
    answeredRequest = null;
    if (error.code !== 3003) toast(sentence(error));
    render();
  });
}
