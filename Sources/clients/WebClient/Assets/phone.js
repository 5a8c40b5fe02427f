// phone.js: the lobby's side of calls: being reachable, whom to call, running calls, the list of past ones.
import { $, clock, memory, onSubmit, sentence, usersIn } from "./page.js";
import { about, avatar, fill, icon, make } from "./view.js";
import { isMissed, list, nameOf, recordWords, when } from "./words.js";

/** People called or calling lately, kept in this browser. */
const PEOPLE = 12;
/** How often it is asked who can be reached while somebody looks. */
const LOOK_MS = 10_000;

class Phone {
  /** What its buttons do: `dial(users, media)`, `rejoin(call)`, `takeOver(call)`. @type {?object} */
  actions = null;
  #client = null; #records = []; #next; #available = []; #current = null; #changed = false; #presence = new Map(); #looking = null;

  constructor() {
    onSubmit("dial-form", () => this.#dial("video"));
    $("dial-voice").onclick = () => $("dial-form").reportValidity() && this.#dial("audio");
    $("records-more").onclick = () => this.#loadMore();
  }

  /** People this browser knows, newest first. @returns {string[]} */
  get people() {
    const told = this.#records.flatMap(({ peers }) => peers);
    return [...new Set([...(memory.get("people")?.split("\n") ?? []), ...told])].filter((user) => user && user !== this.#client?.user);
  }

  remember(users) {
    memory.set("people", [...new Set([...users, ...this.people])].slice(0, PEOPLE).join("\n"));
  }

  isReachable(user) {
    return this.#presence.get(user)?.reachable ?? false;
  }

  /** The client says hello or is gone. */
  async use(client, missed = 0) {
    this.#client = client;
    clearInterval(this.#looking);
    $("phone").dataset.online = String(Boolean(client));
    for (const id of ["dial-people", "running", "records"]) $(id).replaceChildren(); // theirs was another client
    if (!client) return;
    $("phone-user").textContent = client.user;
    this.status(missed ? `You missed ${missed === 1 ? "a call" : `${missed} calls`}.` : "");
    [this.#records, this.#next, this.#available, this.#current] = [[], undefined, [], null];
    this.#looking = setInterval(() => this.look(), LOOK_MS);
    client.addEventListener("callRecord", ({ detail: { record } }) => this.#add(record));
    client.addEventListener("callMissed", () => this.look());
    client.addEventListener("callChanged", () => client === this.#client && this.#renderSoon());
    await Promise.all([this.#loadMore(), this.look()]);
  }

  status(text, isBad = false) {
    $("phone-status").textContent = text;
    $("phone-status").hidden = !text;
    $("phone-status").classList.toggle("error", isBad);
  }

  /** Asks who can be reached, and which calls are running. */
  async look() {
    // While the connection is away, questions would pile up, and all be asked at once when it is back.
    if (this.#client?.state !== "open" || document.hidden || ($("phone").hidden && !$("invite-dialog").open)) return this.render();
    const people = this.people.slice(0, 50);
    try {
      const [users, calls, current] = await Promise.all([
        people.length ? this.#client.presence(people) : [], this.#client.availableCalls(), this.#client.currentCall()]);
      this.#presence = new Map(users.map((user) => [user.user, user]));
      this.#available = [...new Set([...(current ? [current] : []), ...calls])];
      this.#current = current;
    } catch { /* not now; it is asked again */ }
    this.render();
  }

  /** One who can be chosen with a touch. */
  chip(user, run) {
    const known = this.#presence.get(user);
    const words = !known?.reachable ? "offline" : known.inCall ? "in a call" : "reachable";
    const chip = make("button", { type: "button", className: "chip person", title: words, onclick: () => run(user) }, make("i"), user);
    chip.ariaLabel = `${user}, ${words}`;
    chip.dataset.presence = words;
    return chip;
  }

  /** Many changes make one rendering. */
  #renderSoon() {
    if (this.#changed) return;
    this.#changed = true;
    queueMicrotask(() => this.render());
  }

  render() {
    this.#changed = false;
    if (!this.#client) return;
    const options = this.people.map((user) => make("option", { value: user }));
    fill($("people"), options);
    fill($("dial-people"), this.people.slice(0, 8).map((user) => this.chip(user, () => {
      $("dial-to").value = [...new Set([...usersIn("dial-to"), user])].join(", ");
      $("dial-to").focus();
    })));
    const running = this.#available.filter((call) => !call.isOver && !call.room);
    $("running-box").hidden = running.length === 0;
    fill($("running"), running.map((call) => this.#runningItem(call)));
    fill($("records"), this.#records.map((record) => this.#recordItem(record)));
    $("records-none").hidden = this.#records.length > 0;
    $("records-more").hidden = !this.#next;
  }

  #runningItem(call) {
    const names = call.joined.filter(({ user }) => user !== this.#client.user).map(({ user }) => nameOf(call, user));
    const time = call.startedAt ? `, since ${when(call.startedAt)}` : "";
    const isElsewhere = call === this.#current && call.self?.state !== "reconnecting";
    const [label, run] = isElsewhere ? ["Take over here", this.actions.takeOver] : ["Join", this.actions.rejoin];
    const join = make("button", { type: "button", className: "primary small", onclick: () => run(call) }, label);
    join.ariaLabel = `${label}: the call with ${list(names)}`;
    const words = `${call.media === "video" ? "Video" : "Voice"} call of ${call.joined.length}${time}`;
    const item = make("li", {}, avatar(names[0] ?? "?"), about(list(names), words), join);
    item.dataset.call = call.callId;
    return item;
  }

  #recordItem(record) {
    const { icon: kind, words } = recordWords(record, clock);
    const names = list(record.peers);
    const back = make("button", { type: "button", className: "quiet round small", onclick: () => this.actions.dial(record.peers, record.media) },
      icon(record.media === "video" ? "i-cam" : "i-phone", ""));
    back.ariaLabel = `Call ${names} again`;
    const item = make("li", { className: kind }, icon(`i-${kind}`, kind === "missed" ? "missed" : kind === "in" ? "incoming" : "outgoing"),
      about(names, words), make("time", { dateTime: new Date(record.startedAt).toISOString() }, when(record.startedAt)), back);
    Object.assign(item.dataset, { call: record.callId, result: record.result });
    return item;
  }

  #add(record) {
    this.#records = [record, ...this.#records.filter(({ callId }) => callId !== record.callId)];
    this.remember(record.peers.slice(0, 4));
    if (isMissed(record)) this.status(`You missed a call from ${list([record.inviter ?? record.peers[0]])}.`);
    this.look();
  }

  async #loadMore() {
    try {
      const { records, next } = await this.#client.callHistory({ before: this.#next, limit: 20 });
      const known = new Set(this.#records.map(({ callId }) => callId));
      this.#records.push(...records.filter(({ callId }) => !known.has(callId)));
      this.#next = next;
    } catch (error) {
      this.status(sentence(error), true);
    }
    this.render();
  }

  async #dial(media) {
    const users = usersIn("dial-to");
    if (users.length === 0) return this.status("Please enter whom to call.", true);
    if (users.includes(this.#client.user)) return this.status("You cannot call yourself.", true);
    await this.actions.dial(users, media);
  }
}

export const phone = new Phone();
