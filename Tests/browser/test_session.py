"""One session: when its socket counts as dead, and how it comes back."""

from wire import wired

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
  for (let look = 0; look < 3; look++) result.seen.push(after(6_500));
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
