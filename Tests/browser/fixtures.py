"""Pictures and tones that tell people apart: a colour and a frequency each, as files for Chromium's fake devices."""

import dataclasses
import pathlib
import wave

import numpy

WIDTH, HEIGHT, RATE, SECONDS = 320, 180, 15, 2
SAMPLES = 48_000


@dataclasses.dataclass(frozen=True)
class Look:
    """What somebody looks and sounds like."""

    colour: tuple[int, int, int]
    tone: int


LOOKS = {
    "Anna": Look((200, 40, 40), 440),
    "Ben": Look((40, 160, 60), 660),
    "Cleo": Look((50, 70, 200), 1000),
    "Dora": Look((190, 170, 40), 1500),
}


def write_picture(path: pathlib.Path, colour: tuple[int, int, int], rate: int = RATE) -> None:
    """A plain colour with a light square that wanders, as Y4M: every frame differs from the one before. `rate`: frames a second."""
    y, u, v = yuv(colour)
    frames = rate * SECONDS
    with path.open("wb") as file:
        file.write(f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F{rate}:1 Ip A1:1 C420mpeg2\n".encode())
        for index in range(frames):
            luma = numpy.full((HEIGHT, WIDTH), y, numpy.uint8)
            left = 8 + (WIDTH - 48) * index // frames
            luma[12:44, left : left + 32] = 225
            file.write(b"FRAME\n" + luma.tobytes())
            file.write(bytes([u]) * (WIDTH * HEIGHT // 4) + bytes([v]) * (WIDTH * HEIGHT // 4))


def write_tone(path: pathlib.Path, frequency: int) -> None:
    """Five tones in two seconds with short gaps, since a steady one would be taken for noise and suppressed. Not four a
    second: the server looks for speakers that often, and would always find the same part of a tone."""
    time = numpy.arange(SAMPLES * SECONDS) / SAMPLES
    envelope = numpy.clip(4 * numpy.sin(2 * numpy.pi * 2.5 * time) + 3, 0, 1)
    samples = (numpy.sin(2 * numpy.pi * frequency * time) * envelope * 0.4 * 32767).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SAMPLES)
        file.writeframes(samples.tobytes())


def yuv(colour: tuple[int, int, int]) -> tuple[int, int, int]:
    """BT.601, limited range, as Chromium reads Y4M."""
    r, g, b = colour
    return (
        round(16 + 0.257 * r + 0.504 * g + 0.098 * b),
        round(128 - 0.148 * r - 0.291 * g + 0.439 * b),
        round(128 + 0.439 * r - 0.368 * g - 0.071 * b),
    )
