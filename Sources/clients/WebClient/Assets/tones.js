// tones.js: the sounds of calls, made by WebAudio. Browsers hold sound back until somebody has touched the page; `isHeld`
// tells, and the first touch lets it out.

/** Each: frequencies, then [start, length] of every beep in seconds, and when it begins again. */
const PATTERNS = {
  ring: { notes: [[659, 0, 0.16], [784, 0.17, 0.16], [988, 0.34, 0.3], [659, 0.85, 0.16], [784, 1.02, 0.16], [988, 1.19, 0.3]], every: 3.2, gain: 0.16 },
  ringback: { notes: [[425, 0, 1]], every: 4, gain: 0.05 },
  waiting: { notes: [[740, 0, 0.12], [740, 0.22, 0.12]], every: 4, gain: 0.05 },
  joined: { notes: [[523, 0, 0.09], [784, 0.1, 0.14]], gain: 0.08 },
  ended: { notes: [[494, 0, 0.12], [330, 0.14, 0.2]], gain: 0.08 },
  busy: { notes: [[425, 0, 0.24], [425, 0.48, 0.24], [425, 0.96, 0.24]], gain: 0.06 },
};

let context = null;
let playing = null;

function open() {
  context ??= new AudioContext();
  if (context.state === "suspended") context.resume().catch(() => {});
  return context;
}

/** Whether the browser holds the sound back until the page is touched. */
export const isHeld = () => context !== null && context.state !== "running";

/** Which tone goes on and on now. @returns {?string} */
export const sounding = () => playing?.name ?? null;

function beep(output, [frequency, start, length], at, gain) {
  const oscillator = new OscillatorNode(context, { type: "sine", frequency });
  const level = new GainNode(context, { gain: 0 });
  level.gain.setValueAtTime(0, at + start);
  level.gain.linearRampToValueAtTime(gain, at + start + 0.02);
  level.gain.setValueAtTime(gain, at + start + length - 0.02);
  level.gain.linearRampToValueAtTime(0, at + start + length);
  oscillator.connect(level).connect(output);
  oscillator.start(at + start);
  oscillator.stop(at + start + length + 0.05);
}

/** One pass of a pattern, through an output of its own, so that it can be cut off. */
function pass({ notes, gain }) {
  if (context.state !== "running") return null;
  const output = new GainNode(context);
  output.connect(context.destination);
  for (const note of notes) beep(output, note, context.currentTime + 0.02, gain);
  return output;
}

/** Begins a tone that goes on until `stop`. @param {"ring"|"ringback"|"waiting"} name */
export function start(name) {
  if (playing?.name === name) return;
  stop();
  open();
  const pattern = PATTERNS[name];
  const mine = (playing = { name, output: null, timer: null });
  const again = () => {
    if (playing !== mine) return;
    mine.output?.disconnect();
    mine.output = pass(pattern);
    // While the browser holds the sound back, look often: it shall begin with the touch.
    mine.timer = setTimeout(again, mine.output ? pattern.every * 1000 : 300);
  };
  again();
  if (name !== "ringback") navigator.vibrate?.([300, 150, 300, 1000, 300, 150, 300]);
}

export function stop() {
  if (!playing) return;
  clearTimeout(playing.timer);
  playing.output?.disconnect();
  playing = null;
  navigator.vibrate?.(0);
}

/** A short one. @param {"joined"|"ended"|"busy"} name */
export function once(name) {
  open();
  pass(PATTERNS[name]);
}

/** Called on a touch of the page: what was held back may sound from now on. */
export function unlock() {
  if (context?.state === "suspended") context.resume().catch(() => {});
}
