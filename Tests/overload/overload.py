#!/usr/bin/env python3
"""A worker that cannot send what three rooms of sixteen wish for: pictures step down, sound stays whole, newcomers are refused in time.

    Tests/overload/overload.py PROGRAM [EARLIER]    PROGRAM: .build/release/roost; EARLIER: another build of it, whose figures are shown

Each packet that the server sends is made to take 12 µs longer, so that a worker is full long before the load generator is. Exits with 1
where a bar is missed.
"""
import json, os, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
NANOSECONDS = 12_000
START = """#!/bin/bash
arguments=("$@")
for place in "${{!arguments[@]}}"; do
  if [ "${{arguments[$place]}}" = --config ]; then
    sed 's/^media: {{/media: {{full_above: {above}, /' "${{arguments[$((place + 1))]}}" > {folder}/rooms.yaml
    arguments[$((place + 1))]={folder}/rooms.yaml
  fi
done
LD_PRELOAD={folder}/slow_sends.so SLOW_NANOSECONDS={nanoseconds} exec {program} "${{arguments[@]}}"
"""


def load(program, folder, people, rooms, above, ramp=2):
    start, figures = f"{folder}/roost", f"{folder}/figures.json"
    with open(start, "w") as file:
        file.write(START.format(above=above, folder=folder, nanoseconds=NANOSECONDS, program=os.path.abspath(program)))
    os.chmod(start, 0o755)
    subprocess.run(
        [".build/release/loadtest", "--publishers", str(people), "--rooms", str(rooms), "--layers", "3", "--bitrate",
         "1500", "--frame-rate", "25", "--ramp", str(ramp), "--duration", "8", "--no-limit", "--roost", start,
         "--json", figures],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=150)
    with open(figures) as file:
        return json.load(file)


def show(name, run):
    print(f"{name:34} {run['participants']:3} people  {run['packetsPerSecond']:8.0f} packets/s  "
          f"loss {run['lossRatio'] * 100:6.2f} %  {run['server']['cpuMicrosPerForwardedPacket']:6.2f} µs a packet  "
          f"streams {run['streamsSeen']}/{run['streamsExpected']}  sound {json.dumps(run['latencyMs']['audio'])}", flush=True)


def main():
    program, earlier = sys.argv[1], (sys.argv[2:] or [None])[0]
    missed = []

    def hold(holds, text):
        print(f"  {'held' if holds else 'MISSED'}  {text}")
        if not holds:
            missed.append(text)

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", f"{folder}/slow_sends.so", f"{HERE}/slow_sends.c",
                        "-ldl"], check=True)
        if earlier:
            show("earlier, everybody let in", load(earlier, folder, 16, 3, 100))
        few = load(program, folder, 8, 1, 100)
        show("one room of eight: all fits", few)
        many = load(program, folder, 16, 3, 100)
        show("three of sixteen, all let in", many)
        # Slowly enough for the worker to learn what a stream costs on this machine.
        refusing = load(program, folder, 16, 3, 85, ramp=12)
        show("three of sixteen, full_above 85", refusing)
        hold(few["lossRatio"] == 0, "what fits loses nothing")
        hold(many["participants"] == 48 and many["lossRatio"] <= 0.001, "too many: at most 0.1 % of what is sent is lost")
        hold(many["streamsSeen"] >= 0.99 * many["streamsExpected"], "everybody is heard and seen")
        busy = many["server"]["cpuSeconds"] / many["steadySeconds"]
        ratio = many["server"]["cpuMicrosPerForwardedPacket"] / few["server"]["cpuMicrosPerForwardedPacket"]
        hold(busy >= 0.8 and ratio <= 1.15,
             f"throughput stays at its height: {busy:.0%} of a CPU, and {ratio:.2f} of the cost where all fits")
        hold(refusing["participants"] < 48 and any("5002" in text for text in refusing["problems"]),
             "who comes beyond the limit gets 5002")
        hold(refusing["participants"] >= 16 and refusing["lossRatio"] <= 0.001, "and nobody inside notices")
    return 1 if missed else 0


sys.exit(main())
