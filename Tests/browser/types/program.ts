// What programs do with the SDK, as docs/web-client.md shows it. It is compiled, not run. Each `@ts-expect-error` is a mistake that the
// types must find.
import {
  Call, LocalTrack, Room, RoostClient, RoostError, View, isScreen, judgeQuality, listDevices, openMedia, openScreen, openScreenMedia,
  reasonSentence, rtcUrl, wire,
} from "./roost.js";
import { RoomSound } from "./sound.js";

export async function joinARoom(): Promise<void> {
  const client = new RoostClient("wss://roost.example.org/rtc", { displayName: "Anna", capabilities: { freshLines: false } });
  await client.connect();
  const room: Room = await client.join("demo");
  room.addEventListener("trackStarted", ({ detail: { participant, track } }) => {
    const element = document.createElement(track.kind);
    if (track.mediaStreamTrack) element.srcObject = new MediaStream([track.mediaStreamTrack]);
    element.title = participant.displayName;
  });
  room.addEventListener("participantLeft", ({ detail }) => console.log(detail.participant.user, detail.reason));
  room.addEventListener("closed", ({ detail: { error } }) => console.log(error?.message ?? "left"));
  const { audio, video } = await openMedia({ audio: true, video: true });
  if (audio) {
    const microphone: LocalTrack = await room.publish(audio, { label: "microphone" });
    await microphone.mute();
  }
  if (video) await room.publish(video, { source: "camera", simulcast: true });
  await room.publish(await openScreen(), { source: "screen", codec: "AV1", maxBitrate: 1_500_000 });
  const shared = await openScreenMedia({ audio: true });
  if (shared.audio) await room.publish(shared.audio, { source: "screen_audio", maxBitrate: 128_000 });
  const { delivered } = await room.sendChat("Only for Ben", { to: ["ben"] });
  room.addEventListener("message", ({ detail: { from, topic, data } }) => console.log(from, topic, data));
  console.log((await room.send("dtmf", { tone: "5" }, { to: ["ben"] })).delivered);
  const levels: string[] = [`${delivered}`, (await room.quality()).level];
  for (const { track, part } of room.views([...room.participants.values()][0])) levels.push(track.trackId, `${part?.x}`);
  console.log(levels, (await listDevices()).audio.map(({ label }) => label), rtcUrl());

  // @ts-expect-error a source that is none
  await room.publish(await openScreen(), { source: "window" });
  // @ts-expect-error a codec by another name
  await room.publish(shared.video, { codec: "h264" });
  // @ts-expect-error the event has no such detail
  room.addEventListener("chat", ({ detail }) => console.log(detail.text));
  // @ts-expect-error rooms are joined, not made
  new Room();
  // @ts-expect-error an amount that is none
  room.receive("some");
}

export async function listen(room: Room, button: HTMLButtonElement): Promise<void> {
  const sound = new RoomSound(room);
  sound.addEventListener("blocked", ({ detail }) => (button.hidden = !detail.blocked));
  button.onclick = () => sound.start();
  const [other] = (await listDevices()).output;
  if (other) await sound.setOutput(other.deviceId);
  for (const element of sound.elements) element.volume = 0.5;
  room.addEventListener("quality", ({ detail: { people } }) => console.log(people.map(({ quality }) => quality?.level ?? "good")));
  // @ts-expect-error the event has no such detail
  sound.addEventListener("blocked", ({ detail }) => detail.sound);
  // @ts-expect-error a room is needed
  new RoomSound();
}

export async function moderate(ask: () => Promise<string>): Promise<string[]> {
  const client = new RoostClient("wss://roost.example.org/rtc", { displayName: "Anna", token: ask });
  client.addEventListener("grants", ({ detail: { grants, room } }) => console.log(grants?.includes("moderate"), room));
  client.addEventListener("waiting", ({ detail }) => console.log(detail.room));
  await client.connect();
  const room = await client.join("demo", { waits: true });
  room.addEventListener("knock", ({ detail: { user, gone } }) => gone || room.moderate("admit", { user }));
  room.addEventListener("moderated", ({ detail }) => console.log(detail.moderator?.displayName ?? "an operator", detail.action, detail.hold));
  room.addEventListener("handChanged", ({ detail: { participant } }) => console.log(participant.handRaisedAt));
  room.addEventListener("roleChanged", ({ detail: { participant } }) => console.log(participant.role === "speaker"));
  await room.moderate("mute", { user: "ben", kind: "audio", hold: true });
  await room.moderate("role", { user: "ben", role: "participant" });
  await room.moderate("ban", { user: "carl", until: client.session.serverNow + 3_600_000 });
  await room.moderate("lobby");
  await room.moderate("media", { media: "audio" });
  await room.raiseHand();
  // @ts-expect-error somebody has to be named
  await room.moderate("kick");
  // @ts-expect-error an action that is none
  await room.moderate("silence", { user: "ben" });
  // @ts-expect-error a role that is none
  await room.moderate("role", { user: "ben", role: "boss" });
  // @ts-expect-error a grant that is none
  client.grants?.includes("everything");
  return room.moderation.waiting.filter(({ user }) => !room.isHeld(user, "audio")).map(({ displayName }) => displayName);
}

export async function call(client: RoostClient): Promise<void> {
  client.addEventListener("incomingCall", async ({ detail: { call, from } }) => {
    if (!confirm(`${from} is calling.`)) return call.reject({ text: "Not now" });
    const room = await call.accept({ media: "audio" });
    for (const track of room.localTracks) if (isScreen(track)) await room.unpublish(track);
  });
  const { call, unreachable } = await client.startCall(["ben", "cleo"], { media: "video", ringTimeoutMs: 20_000 });
  call.addEventListener("member", ({ detail: { what, member, text } }) => console.log(member.user, what, text));
  call.addEventListener("ended", ({ detail }) => console.log(reasonSentence(detail.reason, { outgoing: true }), detail.durationMs));
  const ringing: string[] = call.ringing.map(({ user }) => user).concat(unreachable);
  const known: Call | undefined = client.calls.find(({ isRinging }) => isRinging);
  console.log(ringing, known?.remainingMs);
  await call.mediaChange("request", "audio");
  // @ts-expect-error a wish that is none
  await call.mediaChange("ask");
  // @ts-expect-error an event that is none, by its detail
  call.addEventListener("ended", ({ detail }) => console.log(detail.seconds));
}

export async function messages(client: RoostClient): Promise<string> {
  const { rooms, next } = await client.request("room.list");
  const held: wire.RoomModeration | undefined = (await client.request("room.info", { room: rooms[0].name })).moderation;
  const { records } = await client.callHistory();
  client.addEventListener("callRecord", ({ detail: { record } }) => console.log(record.durationMs, record.why ?? record.reason));
  client.addEventListener("notification", ({ detail }) => {
    if (detail.method === "room.quality") console.log(detail.params.seq, detail.params.own?.rtt);
    // @ts-expect-error another event has that
    if (detail.method === "room.closed") console.log(detail.params.own);
  });
  await client.request("ping");
  // @ts-expect-error a method that is none
  await client.request("room.paint");
  // @ts-expect-error the room is missing
  await client.request("room.info", {});
  // @ts-expect-error a word that is none
  await client.request("track.subscribe", { trackId: "t1", definition: "huge" });
  // @ts-expect-error records have no such field
  console.log(records[0].seconds);
  return `${next ?? ""} ${held?.locked}`;
}

export async function look(client: RoostClient, element: HTMLVideoElement): Promise<string> {
  const room = await client.join("hall", { views: 2 });
  const [stage, corner]: View[] = room.openedViews;
  stage.attach(element);
  await room.show([[stage, "activeSpeaker"], [corner, null]]);
  room.shown(stage, 720);
  try {
    await client.request("chat.send", { room: "demo", text: "hi" });
  } catch (error) {
    if (error instanceof RoostError && error.retryable) return `${error.code} ${error.data.retryAfterMs}`;
  }
  // @ts-expect-error something is missing
  judgeQuality({ connected: true });
  // @ts-expect-error views show tracks, and not names
  await stage.show("anna");
  return room.self?.displayName ?? "";
}
