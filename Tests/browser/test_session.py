"""One session: when its socket counts as dead, and how it comes back."""

from people import eventually
from playwright.sync_api import expect
from wire import refusal, rule, sent, wired

# Ticks and time by hand. Each minute is one tick, as in a page that has been hidden for a while.
MINUTES = """async () => {
  const { RoostClient, rtcUrl } = await import("/roost.js");
  const [interval, now] = [window.setInterval, performance.now.bind(performance)];
  let [look, ahead] = [null, 0];
  performance.now = () => now() + ahead;
  window.setInterval = (run) => (look = run) && 0;
  const client = new RoostClient(rtcUrl());
  await client.connect();
  window.setInterval = interval;
  const { sent, sockets, rules } = window.wire;
  const open = () => new Promise((resolve) => client.addEventListener("state", ({ detail }) => detail.state === "open" && resolve()));
  const after = (ms) => {
    ahead += ms;
    look();
    return [client.state, sent.filter((method) => method === "ping").length, sockets.length];
  };
  const result = { healthy: [], hidden: [], seen: [] };
  for (let minute = 0; minute < 3; minute++) {
    result.healthy.push(after(60_000));
    await client.rooms(); // replies come in order
  }
  rules.ping = [null, null];
  for (let minute = 0; minute < 3; minute++) result.hidden.push(after(60_000));
  await open();
  rules.ping = [null];
  for (const ms of [31_000, 6_500, 6_500]) result.seen.push(after(ms)); // one who only waits is pinged every half minute
  await open();
  client.close();
  return result;
}"""


def test_a_late_look_is_not_taken_for_silence(person):
    anna = wired(person("Anna"))
    anna.open("demo", video=0, audio=0)
    assert anna.page.evaluate(MINUTES) == {
        "healthy": [["open", 1, 1], ["open", 2, 1], ["open", 3, 1]],
        # The third time the socket is dead, and the next one is opened in that very moment: no timer would come.
        "hidden": [["open", 4, 1], ["open", 5, 1], ["reconnecting", 5, 2]],
        "seen": [["open", 6, 2], ["reconnecting", 6, 3], ["reconnecting", 6, 3]],
    }


# The one pause of that length ends when the test says so.
HOLD = """() => {
  const later = window.setTimeout;
  window.setTimeout = (run, ms, ...more) => (ms === 4321 ? (window.goOn = run) && 0 : later(run, ms, ...more));
  window.rejoined = 0;
  window.roost.client.addEventListener("rejoined", () => window.rejoined++);
}"""


def test_a_socket_lost_in_the_pause_before_joining_again_does_not_cost_the_seat(person, line, room):
    anna, ben = wired(person("Anna", on=line)).join(room), person("Ben").join(room)
    ben.sees("Anna")
    anna.page.evaluate(HOLD)
    rule(anna, "session.resume", refusal(1007))
    rule(anna, "room.join", refusal(5002, retryable=True, retryAfterMs=4321))
    anna.page.evaluate("window.roost.client.session.dropSocket()")
    eventually("the pause", lambda: anna.page.evaluate("Boolean(window.goOn)"))
    line.cut()
    expect(anna.page.locator("#banner")).to_have_text("Reconnecting…")
    anna.page.evaluate("window.goOn()")
    line.mend()
    eventually("she is back", lambda: anna.page.evaluate("window.rejoined"))
    ben.sees("Anna")
    anna.sees("Ben")
    anna.say("here I am")
    expect(ben.messages).to_have_count(1)
    assert [sent(anna, "room.join"), anna.page.evaluate("window.rejoined")] == [3, 1], "one attempt at a time"


# The answer to the next hello is lost, and the server does not learn of it: the socket stays until it is let go.
LOSE_HELLO = """() => {
  const { session } = window.roost.client;
  const [send, close] = [WebSocket.prototype.send, WebSocket.prototype.close];
  window.states = [];
  window.inUse = 0;
  session.addEventListener("state", ({ detail: { state } }) => window.states.push(state));
  WebSocket.prototype.send = function (text) {
    const { method } = JSON.parse(text);
    if (method === "session.hello") {
      const { onmessage, onclose } = this;
      this.onmessage = (message) => {
        const { error } = JSON.parse(message.data);
        if (error?.data?.reason === "device_in_use") window.inUse++;
        if (window.letGo || error) return onmessage.call(this, message);
        window.letGo = () => close.call(this, 1000);
        this.onmessage = this.onclose = null;
        this.close = () => {};
        onclose.call(this);
      };
    }
    return send.call(this, text);
  };
}"""


def test_a_lost_answer_to_hello_does_not_end_the_session(person, room):
    anna, ben = wired(person("Anna")).join(room), person("Ben").join(room)
    ben.sees("Anna")
    anna.page.evaluate(LOSE_HELLO)
    rule(anna, "session.resume", refusal(1007))
    anna.page.evaluate("window.roost.client.session.dropSocket()")
    eventually("the server knows the device", lambda: anna.page.evaluate("window.inUse > 1 || window.states.includes('closed')"))
    anna.page.evaluate("window.letGo()")
    eventually("the session stands", lambda: anna.page.evaluate("window.states.at(-1) !== 'reconnecting'"))
    assert anna.page.evaluate("window.states") == ["reconnecting", "open"]
    ben.sees("Anna")


def test_a_resume_without_an_answer_in_time_does_not_free_the_seat(person, room):
    anna = wired(person("Anna")).join(room, audio=0, video=0)
    identity = "[window.roost.room.selfId, window.roost.client.session.hello.sessionId]"
    before = anna.page.evaluate(identity)
    rule(anna, "session.resume", None)
    anna.page.evaluate("""async () => {
      const { session } = window.roost.client;
      const Session = session.constructor;
      Session.requestTimeoutMs = 100;
      window.wire.closes.length = 0;
      session.dropSocket();
      await new Promise((resolve) => {
        const look = setInterval(() => window.wire.closes.length > 1 && (clearInterval(look), resolve()), 10);
      });
      Session.requestTimeoutMs = 20_000;
    }""")
    eventually("she is back", lambda: anna.page.evaluate("window.roost.client.state") == "open")
    assert anna.page.evaluate(f"[window.wire.closes, ...{identity}]") == [[4000, 4000], *before]
