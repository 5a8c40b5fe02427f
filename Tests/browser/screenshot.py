"""Puts three people into a room and takes pictures of the page: see scripts/screenshot."""

import pathlib
import sys
import tempfile

import numpy
from fixtures import LOOKS, write_tone
from people import CHROMIUM, FLAGS, Person
from playwright.sync_api import expect, sync_playwright
from server import Server

WIDTH, HEIGHT, FRAMES = 640, 360, 30

# Wall, hair, skin, shirt.
PORTRAITS = {
    "Anna": ((214, 196, 170), (92, 52, 30), (232, 190, 160), (47, 111, 94)),
    "Ben": ((170, 190, 205), (40, 36, 34), (150, 105, 75), (190, 120, 60)),
    "Cleo": ((196, 208, 180), (150, 110, 60), (240, 205, 180), (90, 90, 150)),
}


def write_portrait(path: pathlib.Path, wall, hair, skin, shirt) -> None:
    """Somebody at a desk who nods a little, as Y4M."""
    rows, columns = numpy.mgrid[0:HEIGHT, 0:WIDTH].astype(float)

    def within(x: float, y: float, wide: float, high: float) -> numpy.ndarray:
        return ((columns - x) / wide) ** 2 + ((rows - y) / high) ** 2 < 1

    with path.open("wb") as file:
        file.write(f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F15:1 Ip A1:1 C420mpeg2\n".encode())
        for index in range(FRAMES):
            nod = 4 * numpy.sin(2 * numpy.pi * index / FRAMES)
            picture = numpy.empty((HEIGHT, WIDTH, 3))
            picture[:] = numpy.array(wall) * (1.08 - 0.25 * rows[..., None] / HEIGHT)
            picture[within(320, 390, 170, 150)] = shirt
            picture[within(320, 250, 34, 50)] = numpy.array(skin) * 0.9
            picture[within(320, 158 + nod, 88, 100)] = hair
            picture[within(320, 178 + nod, 68, 84)] = skin
            picture[within(320, 112 + nod, 74, 40)] = hair
            for eye in (294, 346):
                picture[within(eye, 176 + nod, 6, 7)] = (40, 40, 45)
            picture[within(320, 220 + nod, 24, 12) & (rows > 219 + nod)] = numpy.array(skin) * 0.62
            write_frame(file, picture.clip(0, 255))


def write_frame(file, picture: numpy.ndarray) -> None:
    r, g, b = picture[..., 0], picture[..., 1], picture[..., 2]
    y, u, v = planes(r, g, b)
    file.write(b"FRAME\n" + y.tobytes() + u[::2, ::2].tobytes() + v[::2, ::2].tobytes())


def planes(r, g, b) -> tuple[numpy.ndarray, ...]:
    """As `fixtures.yuv`, for whole pictures."""
    return (
        (16 + 0.257 * r + 0.504 * g + 0.098 * b).astype(numpy.uint8),
        (128 - 0.148 * r - 0.291 * g + 0.439 * b).astype(numpy.uint8),
        (128 + 0.439 * r - 0.368 * g - 0.071 * b).astype(numpy.uint8),
    )


# What Ben shares: a page with a heading, lines and a chart, as large as screens are.
SHARED = """() => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1920, height: 1080 });
  const context = canvas.getContext("2d");
  const write = (text, x, y, size, weight = 400) => {
    context.fillStyle = "#23302c";
    context.font = `${weight} ${size}px "DejaVu Sans", sans-serif`;
    context.fillText(text, x, y);
  };
  const draw = () => {
    context.fillStyle = "#fbfaf6";
    context.fillRect(0, 0, 1920, 1080);
    write("Visitors of the library, by month", 120, 170, 64, 700);
    write("More people came in every month since the reading room opened.", 120, 250, 36);
    [310, 340, 335, 420, 455, 470, 520, 560, 610].forEach((value, place) => {
      context.fillStyle = place < 3 ? "#b9c7c0" : "#2f6f5e";
      context.fillRect(150 + place * 185, 960 - value, 120, value);
      write(String(value), 172 + place * 185, 940 - value, 32, 600);
      write("JFMAMJJAS"[place], 197 + place * 185, 1010, 32);
    });
  };
  draw();
  setInterval(draw, 250);
  navigator.mediaDevices.getDisplayMedia = async () => canvas.captureStream(4);
}"""


def launch(playwright, name: str, folder: pathlib.Path):
    picture, sound = folder / f"{name}.y4m", folder / f"{name}.wav"
    write_portrait(picture, *PORTRAITS[name])
    write_tone(sound, LOOKS[name].tone)
    files = [f"--use-file-for-fake-video-capture={picture}", f"--use-file-for-fake-audio-capture={sound}"]
    return playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS + files)


def shoot(page, path: pathlib.Path) -> None:
    page.wait_for_timeout(1500)
    page.screenshot(path=path)
    print(path)


def take(playwright, server: Server, folder: pathlib.Path, out: pathlib.Path) -> None:
    people = {name: Person(name, launch(playwright, name, folder), server.url) for name in ("Ben", "Cleo")}
    browser = launch(playwright, "Anna", folder)
    anna = people["Anna"] = Person("Anna", browser, server.url, viewport={"width": 1280, "height": 760})
    anna.open("demo")
    anna.page.locator("#preview-start").dispatch_event("click")
    expect(anna.page.locator("#preview")).to_be_visible()
    shoot(anna.page, out / "join.png")
    anna.page.locator("#join").click()
    for name in ("Ben", "Cleo"):
        people[name].join("demo", height=360)
        anna.sees_anything(name)
    anna.say("Good morning, both of you!")
    people["Ben"].say("Morning. Shall we start?")
    people["Cleo"].say("Two minutes, my coffee is not ready.")
    people["Cleo"].page.locator("#mic").click()
    expect(anna.messages).to_have_count(3)
    anna.page.locator("#room-title").focus()
    shoot(anna.page, out / "room.png")
    anna.page.emulate_media(color_scheme="dark")
    shoot(anna.page, out / "room-dark.png")
    anna.page.emulate_media(color_scheme="light")
    anna.page.locator("#chat-close").click()
    anna.page.set_viewport_size({"width": 390, "height": 780})
    shoot(anna.page, out / "room-phone.png")
    people["Ben"].page.evaluate(SHARED)
    people["Ben"].page.locator("#screen").click()
    screen = anna.page.get_by_role("listitem", name="Ben’s screen").locator("video")
    expect(screen).to_have_js_property("videoWidth", 1920)
    anna.page.wait_for_timeout(4000)  # until the picture is as sharp as it gets
    shoot(anna.page, out / "room-screen-phone.png")
    anna.page.set_viewport_size({"width": 1280, "height": 760})
    shoot(anna.page, out / "room-screen.png")
    for one in people.values():
        one.close()


def take_calls(playwright, server: Server, folder: pathlib.Path, out: pathlib.Path) -> None:
    """A call into which somebody is invited: theirs, his ringing phone, and the lists after he has left again."""
    desktop, phone = {"width": 1280, "height": 760}, {"width": 390, "height": 780}
    views = {"Anna": desktop, "Ben": phone, "Cleo": desktop}
    people = {name: Person(name, launch(playwright, name, folder), server.url, viewport=views[name]) for name in views}
    anna, ben, cleo = people.values()
    for one in people.values():
        one.go_online()
    anna.call("ben")
    expect(ben.page.locator("#ring")).to_be_visible()
    anna.page.locator("#outgoing-cancel").click()
    expect(ben.page.locator("#records li")).to_have_count(1)
    anna.call("cleo")
    cleo.answer()
    anna.sees_anything("Cleo")
    anna.press("i")
    anna.page.keyboard.type("ben")
    anna.press("Enter")
    expect(ben.page.locator("#ring")).to_be_visible()
    anna.page.locator("#invite-close").click()
    shoot(anna.page, out / "call.png")
    shoot(ben.page, out / "ringing.png")
    ben.answer()
    anna.sees_anything("Ben")
    ben.page.locator("#leave").click()
    ben.page.set_viewport_size(desktop)
    expect(ben.page.locator("#running li")).to_be_visible()
    shoot(ben.page, out / "calls.png")
    for one in people.values():
        one.close()


def main() -> None:
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with Server(folder) as server, sync_playwright() as playwright:
            take(playwright, server, folder, out)
            take_calls(playwright, server, folder, out)


if __name__ == "__main__":
    main()
