// basics.js: small things that several modules of the SDK use.

export const emit = (target, type, detail = {}) => target.dispatchEvent(new CustomEvent(type, { detail }));
export const delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs asynchronous jobs one after another, so that no two negotiations of one peer connection overlap. */
export class Queue {
  #tail = Promise.resolve();

  run(job) {
    const result = this.#tail.then(job);
    this.#tail = result.catch(() => {});
    return result;
  }
}

export function randomId() {
  return [...crypto.getRandomValues(new Uint8Array(9))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
