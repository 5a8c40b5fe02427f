// roost.js: the JavaScript SDK of Roost. ES modules, no dependency, no build step; protocol in docs/protocol.md.
// docs/web-client.md has examples and all methods.
//
//   const client = new RoostClient("wss://example.org/rtc", { user: "anna", displayName: "Anna" });
//   await client.connect();
//   const room = await client.join("demo");
//
// From then on the client reconnects by itself: it resumes the session where the server still has it (nobody notices),
// and otherwise says hello, comes back to its room or call and publishes again.
export { RoostClient } from "./client.js";
export { Call } from "./call.js";
export { Room } from "./room.js";
export { View } from "./views.js";
export { LocalTrack, isScreen } from "./tracks.js";
export { Session } from "./session.js";
export { RoostError, reasonSentence } from "./errors.js";
export { judgeQuality } from "./quality.js";
export { listDevices, openMedia, openScreen, openScreenMedia, rtcUrl } from "./devices.js";
