"""Fills seats without a browser for each: one page holds as many clients as there shall be people, and draws the screens they share."""

import typing

from people import Person

# `seats.enter(room, names)`, `.leave(name)`, `.share(name, label, width, height, colour)`, `.stop(name, label)`, `.say(name, texts)`.
SEATS = """async () => {
  const { RoostClient, rtcUrl } = await import("/roost.js");
  const people = new Map();
  const picture = (width, height, colour) => {
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    const context = canvas.getContext("2d");
    let frame = 0;
    const draw = () => {
      context.fillStyle = colour;
      context.fillRect(0, 0, width, height);
      context.fillStyle = "white";
      context.fillRect((frame++ * 40) % width, 20, 60, 60);
      context.fillStyle = "#dde";
      for (let line = 3; line < height / 60; line++) context.fillRect(width / 12, line * 50, width * (0.3 + ((line * 37) % 50) / 100), 18);
    };
    draw();
    setInterval(draw, 500);
    return canvas.captureStream(4).getVideoTracks()[0];
  };
  window.seats = {
    async enter(room, names) {
      for (const name of names) {
        const client = new RoostClient(rtcUrl(), { user: `${name.toLowerCase()}-${room}`, displayName: name });
        await client.connect();
        people.set(name, { client, shared: new Map(), room: await client.join(room, { autoSubscribe: false }) });
      }
    },
    leave: (name) => people.get(name).client.close(),
    async share(name, label, width, height, colour, source = "screen") {
      const { room, shared } = people.get(name);
      shared.set(label, await room.publish(picture(width, height, colour), { label, source, simulcast: false }));
    },
    stop: (name, label) => people.get(name).room.unpublish(people.get(name).shared.get(label)),
    async say(name, texts) {
      for (const text of texts) await people.get(name).room.sendChat(text);
    },
  };
}"""


class Seats:
    """People who are there and say nothing, all in the page of one `Person`."""

    def __init__(self, host: Person, room: str) -> None:
        self.page = host.page
        self.room = room
        self.page.goto(host.url)
        self.page.evaluate(SEATS)

    def do(self, what: str, *given: typing.Any) -> None:
        self.page.evaluate("([what, given]) => window.seats[what](...given)", [what, list(given)])

    def enter(self, *names: str) -> None:
        self.do("enter", self.room, list(names))

    def share(self, name: str, label: str = "screen", size: tuple[int, int] = (1920, 1080), colour: str = "rgb(50 70 200)") -> None:
        self.do("share", name, label, *size, colour)
