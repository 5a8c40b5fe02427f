// Types of roost.js, the JavaScript SDK of Roost; docs/web-client.md says what each part does.

/** What travels with audio and video of a room or call. */
export type Media = "audio" | "video";
/** Which of a video's layers is wished for. */
export type Definition = "low" | "standard" | "high" | "auto";
/** How far a client or session has come. */
export type State = "idle" | "connecting" | "open" | "reconnecting" | "closed";
/** What a track comes from. */
export type Source = "camera" | "microphone" | "screen" | "screen_audio";
/** What a token may allow. */
export type Grant =
  | "join" | "publish:audio" | "publish:video" | "publish:screen" | "subscribe" | "chat" | "call" | "invite" | "moderate" | "record"
  | "admin";
/** What somebody is in a room, where they are more than others. */
export type Role = "moderator" | "speaker";
/** How good a way is, in words. */
export type Level = "good" | "fair" | "poor" | "unknown";

/** An `EventTarget` whose events are `CustomEvent`s with the details that `Events` names. */
interface Emitter<Events> extends EventTarget {
  addEventListener<Name extends keyof Events & string>(
    type: Name, listener: ((event: CustomEvent<Events[Name]>) => void) | null, options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string, listener: EventListenerOrEventListenerObject | null, options?: boolean | AddEventListenerOptions,
  ): void;
  removeEventListener<Name extends keyof Events & string>(
    type: Name, listener: ((event: CustomEvent<Events[Name]>) => void) | null, options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener(
    type: string, listener: EventListenerOrEventListenerObject | null, options?: boolean | EventListenerOptions,
  ): void;
}

declare const Emitter: { new <Events>(): Emitter<Events> };

// ---- the connection

/** Who one is, and how one connects. */
export interface ClientOptions {
  /** That of the token when missing, or random, as `deviceId` is. */
  user?: string;
  deviceId?: string;
  displayName?: string;
  /** For a server with keys: a token, or a function that gives a fresh one each time: at each hello, and before one is over. */
  token?: string | (() => string | Promise<string>);
  capabilities?: { freshLines?: boolean; wholeOffers?: boolean; [name: string]: unknown };
  /** Whether calls ring here; true when missing. */
  callable?: boolean;
  /** Of the session of this user and device that this one is to replace. */
  resumeToken?: string;
  /** Laid over the configuration of both peer connections. */
  rtc?: RTCConfiguration;
}

/** How a room is joined. */
export interface JoinOptions {
  displayName?: string;
  media?: Media;
  metadata?: object;
  /** False to receive only what is bound with `subscribe`. */
  autoSubscribe?: boolean;
  /** Sound by itself, and video in so many views alone. */
  views?: number;
  /** Wait in the lobby, where there is one, until somebody lets one in. */
  waits?: boolean;
  /**
   * Take the place of another device of one's own: with its `resumeToken`, or on an open server without it, once that device has been
   * silent for 5 s. With `waits` that is waited for.
   */
  takeover?: boolean;
  resumeToken?: string;
}

/** How people are called. */
export interface StartCallOptions {
  /** A group when there are several, else `one_to_one`. */
  kind?: "one_to_one" | "one_to_many" | "group";
  /** `video` when missing. */
  media?: Media;
  /** 5,000 to 180,000. */
  ringTimeoutMs?: number;
  rejectPolicy?: "any_ends" | "ignore";
  answerPolicy?: "first_wins" | "everyone";
  busyPolicy?: "reject" | "ring";
  /** Up to 4 KiB, for the callees. */
  extra?: unknown;
  /** For the push webhook. */
  push?: unknown;
  clientCallId?: string;
  /** Leave the call one is in. */
  replace?: boolean;
  /** What to tell the others of oneself. */
  metadata?: object;
  /** False to receive only what is bound with `room.subscribe`. */
  autoSubscribe?: boolean;
}

/** What a room is like, without being in it. */
export interface RoomInfo {
  name: string;
  kind: string;
  media: Media;
  limit: number;
  count: number;
  /** How many publish something; in `roomInfo` alone. */
  publishers?: number;
  /** What moderators have made of the room; in `roomInfo` alone, and missing where all is as usual. */
  moderation?: { locked?: boolean; lobby?: boolean; chatDisabled?: boolean };
}

/** The result of `session.hello`. */
export interface Hello {
  sessionId: string;
  resumeToken: string;
  user: string;
  deviceId: string;
  serverTime: number;
  limits: { [name: string]: number };
  iceServers: RTCIceServer[];
  /** Calls that ring here already, as on the wire. */
  ringing: any[];
  /** The call that one is in, as on the wire. */
  current?: any;
  missed: number;
}

/** Events of a client. */
export interface ClientEvents {
  state: { state: State; error?: RoostError | null };
  notification: { method: string; params: any };
  rejoined: { room: Room };
  incomingCall: { call: Call; from: string; inProgress: boolean; waiting: boolean };
  callCreated: { call: Call };
  callChanged: { call: Call };
  callMissed: { call: Call; why: string };
  callRecord: { record: any };
  /** What one's token allows: at first, and when that changes. `room` where it is good for some rooms only. */
  grants: { grants: Grant[]; room?: string };
  /** One waits at the door of a room (`join` with `waits`). */
  waiting: { room: string };
}

/** A person's connection to a server, and the seat they have. */
export class RoostClient extends Emitter<ClientEvents> {
  constructor(url: string, options?: ClientOptions);
  room: Room | null;
  readonly state: State;
  readonly user: string;
  readonly grants: Grant[] | null;
  readonly session: Session;
  readonly calls: Call[];
  connect(): Promise<Hello>;
  request(method: string, params?: object): Promise<any>;
  join(name: string, options?: JoinOptions): Promise<Room>;
  rooms(): Promise<RoomInfo[]>;
  roomInfo(room: string): Promise<RoomInfo>;
  startCall(
    to: string[], options?: StartCallOptions,
  ): Promise<{ call: Call; room: Room; busy: string[]; unreachable: string[]; isGlare: boolean }>;
  call(callId: string): Call;
  currentCall(): Promise<Call | null>;
  availableCalls(): Promise<Call[]>;
  callHistory(options?: { before?: string; limit?: number }): Promise<{ records: any[]; next?: string }>;
  presence(users: string[]): Promise<{ user: string; reachable: boolean; inCall: boolean; devices: number }[]>;
  blockUser(user: string): Promise<void>;
  unblockUser(user: string): Promise<void>;
  blockedUsers(): Promise<string[]>;
  close(): void;
  /** Without device and token before the first hello. */
  abandon(): { user: string; deviceId?: string; resumeToken?: string };
}

/** Events of a session. */
export interface SessionEvents {
  state: { state: State; error?: RoostError | null };
  notification: { method: string; params: any };
  resumed: { resync?: any };
  restarted: { hello: Hello };
  grants: { grants: Grant[]; room?: string };
}

/** One signalling session: requests and answers, events in order and once. */
export class Session extends Emitter<SessionEvents> {
  static requestTimeoutMs: number;
  static silenceMs: number;
  static doubtMs: number;
  static inUseMs: number;
  constructor(url: string, identity: Omit<ClientOptions, "rtc">);
  state: State;
  hello: Hello | null;
  grants: Grant[] | null;
  isWaiting: () => boolean;
  readonly serverNow: number;
  open(): Promise<Hello>;
  request(method: string, params?: object): Promise<any>;
  renewToken(token: string): Promise<void>;
  check(): Promise<boolean>;
  close(): void;
  abandon(): void;
  dropSocket(): void;
}

// ---- rooms

/** A track of somebody in the room. */
export interface Track {
  trackId: string;
  kind: Media;
  label: string;
  source?: Source;
  muted: boolean;
  subscriptionId: string | null;
  /** Null until it is received. */
  mediaStreamTrack: MediaStreamTrack | null;
  /** The server sends nothing for now. */
  paused: boolean;
  /** Because one's own line does not carry it. */
  tooSlow?: boolean;
  /** Because nothing comes of it: no packet, or no picture that could be shown. */
  missing?: "nothing" | "no_keyframe" | null;
  layer?: number;
  viewIndex?: number;
  split?: object;
}

/** Somebody in the room. */
export interface Participant {
  participantId: string;
  user: string;
  displayName: string;
  state: "joined" | "reconnecting";
  metadata: { [name: string]: any };
  tracks: Map<string, Track>;
  isSelf: boolean;
  /** Missing for who is nothing more than others. */
  role?: Role;
  /** Since when their hand is up, milliseconds since 1970 by the server's clock; missing while it is not. */
  handRaisedAt?: number;
  /** How good their way to the server is, where it is not good. */
  quality?: { level: Level; reason?: string };
}

/** What moderators have made of a room. */
export interface Moderation {
  /** Nobody more is let in. */
  locked: boolean;
  /** Who comes waits to be let in. */
  lobby: boolean;
  /** Moderators alone may write. */
  chatDisabled: boolean;
  /** What oneself may not unmute. */
  held: Media[];
  /** For moderators: who may not unmute. With `everybody` it is all but `users`. */
  holds: { kind: Media; everybody: boolean; users: string[] }[];
  /** For moderators: who waits in the lobby. */
  waiting: { user: string; displayName: string }[];
  /** For moderators: who is kept out, and until when (milliseconds since 1970; without it, for good). Of many it is some. */
  bans: { user: string; until?: number }[];
}

/** What a moderator does. */
export type ModerationAction =
  | "mute" | "stopVideo" | "kick" | "ban" | "unban" | "lock" | "lobby" | "unlock" | "admit" | "deny" | "role" | "disableChat"
  | "enableChat" | "lowerHand" | "media" | "end";

/** What a moderator has done. */
export interface Moderated {
  action: ModerationAction;
  /** Who did it, by user; missing where it was an operator of the server. */
  by?: string;
  /** To whom, by user; missing where it is for all. */
  user?: string;
  /** The name of that user, where it is known. */
  displayName?: string;
  kind?: Media;
  role?: Role | "participant";
  /** When a ban ends, milliseconds since 1970. */
  until?: number;
  /** Whether they may not unmute from now on, or may again. */
  hold?: boolean;
  /** What the room carries from now on, and how many people it takes then. */
  media?: Media;
  limit?: number;
  /** Who did it, where they are in the room. */
  moderator: Participant | null;
  /** Whom it is about, where they are in the room. */
  participant: Participant | null;
}

/** A message of the chat. */
export interface ChatMessage {
  msgId: string;
  ts: number;
  from: string;
  text: string;
  displayName?: string;
  to?: string[];
}

/** How a track is published. */
export interface PublishOptions {
  /** What to call it. */
  label?: string;
  /** By default the label, where it is one of these words. */
  source?: Source;
  /** Start muted. */
  muted?: boolean;
  /** As many layers as the picture carries, which is the default; false is one size. */
  simulcast?: boolean;
  /** Of a picture, this codec and no other. Where the browser cannot send it, or the server does not take it: 4004. */
  codec?: "VP8" | "VP9" | "H264" | "AV1";
  /** Bits per second at most, of several layers the best. By its size when missing; 48,000 for sound. */
  maxBitrate?: number;
  /** Sound in stereo, with what the room allows (`audio_bitrate`), and without pauses in silence. */
  music?: boolean;
  /** Which of this device's views it is, where it publishes several. */
  viewIndex?: number;
  /** How one picture holds several views, in fractions of it. */
  split?: { views: { index: number; x: number; y: number; w: number; h: number }[] };
}

/** Events of a room. */
export interface RoomEvents {
  participantJoined: { participant: Participant };
  participantUpdated: { participant: Participant };
  participantLeft: { participant: Participant; reason: string };
  trackPublished: { participant: Participant; track: Track };
  trackUpdated: { participant: Participant; track: Track };
  trackUnpublished: { participant: Participant; track: Track };
  /** Media is received. */
  trackStarted: { participant: Participant; track: Track };
  /** It is received no more. */
  trackStopped: { participant: Participant; track: Track };
  viewChanged: { view: View };
  localTrackUpdated: { track: LocalTrack; error?: RoostError };
  /** Its device is gone. */
  localTrackEnded: { track: LocalTrack };
  /** The next seat does not take it, or the server has ended it, as where a moderator stops video; its device is left on. */
  localTrackRefused: { track: LocalTrack; error: RoostError };
  activeSpeakers: { speakers: { participant: Participant; level: number }[] };
  /** How good the ways to the server are, as the server sees it: those of others, and one's own where it has changed. */
  quality: { people: Participant[]; own: any };
  chat: { message: ChatMessage };
  roleChanged: { participant: Participant };
  /** It was raised, or is down. */
  handChanged: { participant: Participant };
  /** A moderator, or an operator, has done something; it comes before its effects. */
  moderated: Moderated;
  /** For moderators: somebody waits in the lobby, or has gone away. */
  knock: { user: string; displayName: string; gone?: boolean };
  media: { pc: "publish" | "subscribe"; state: RTCPeerConnectionState };
  /** Everything may have changed. */
  refreshed: {};
  warning: { error: RoostError };
  closed: { error: RoostError | null };
}

/** A room one sits in. */
export class Room extends Emitter<RoomEvents> {
  private constructor();
  name: string;
  kind: string;
  media: Media;
  limit: number;
  selfId: string;
  participants: Map<string, Participant>;
  chat: ChatMessage[];
  localTracks: Set<LocalTrack>;
  own: any;
  moderation: Moderation;
  closed: boolean;
  readonly callId: string | null;
  readonly self: Participant | null;
  readonly openedViews: View[];
  readonly mediaStates: { publish?: RTCPeerConnectionState; subscribe?: RTCPeerConnectionState };
  publish(mediaStreamTrack: MediaStreamTrack, options?: PublishOptions): Promise<LocalTrack>;
  unpublish(track: LocalTrack): Promise<void>;
  sendChat(
    text: string, options?: { to?: string[] },
  ): Promise<{ msgId: string; ts: number; delivered: number; stored: boolean }>;
  history(options?: { before?: string; limit?: number }): Promise<ChatMessage[]>;
  moderate(action: "lock" | "lobby" | "unlock" | "disableChat" | "enableChat" | "end"): Promise<void>;
  moderate(action: "media", options: { media: Media }): Promise<void>;
  moderate(action: "mute", options?: { user?: string; kind?: Media; hold?: boolean }): Promise<void>;
  moderate(action: "stopVideo", options?: { user?: string; hold?: boolean }): Promise<void>;
  moderate(action: "admit" | "deny" | "lowerHand", options?: { user?: string }): Promise<void>;
  moderate(action: "kick" | "unban", options: { user: string }): Promise<void>;
  moderate(action: "ban", options: { user: string; until?: number; address?: boolean }): Promise<void>;
  moderate(action: "role", options: { user: string; role: Role | "participant" }): Promise<void>;
  isHeld(user: string, kind: Media): boolean;
  raiseHand(raised?: boolean): Promise<void>;
  subscribe(
    trackId: string, options?: { definition?: Definition; view?: number; priority?: number },
  ): Promise<{ subscriptionId: string }>;
  unsubscribe(subscriptionId: string): Promise<any>;
  update(
    subscriptionId: string, changes: { definition?: Definition; paused?: boolean; priority?: number; maxHeight?: number },
  ): Promise<void>;
  shown(track: Track | View, height: number): void;
  receive(amount: "all" | "low" | "sound"): void;
  swap(a: string, b: string): Promise<void>;
  openViews(count: number): Promise<View[]>;
  show(changes: [View, Track | "activeSpeaker" | null][]): Promise<void>;
  views(
    participant: Participant,
  ): { index: number; track: Track; part: { x: number; y: number; w: number; h: number } | null }[];
  stats(): Promise<{ publish: RTCStatsReport | null; subscribe: RTCStatsReport | null }>;
  quality(): Promise<{
    level: Level; why: string; lossIn: number; lossOut: number; rttMs: number; frozenMs: number;
  }>;
  leave(): Promise<void>;
}

/** A track one publishes. */
export class LocalTrack {
  private constructor();
  trackId: string | null;
  kind: Media;
  label: string;
  source: Source | undefined;
  muted: boolean;
  viewIndex: number | undefined;
  split: object | undefined;
  mediaStreamTrack: MediaStreamTrack;
  mute(): Promise<void>;
  unmute(): Promise<void>;
  replace(mediaStreamTrack: MediaStreamTrack): Promise<void>;
}

/** A place for one video after the other. */
export class View {
  private constructor();
  subscriptionId: string;
  mediaStreamTrack: MediaStreamTrack | null;
  track: Track | null;
  participant: Participant | null;
  reason: string | null;
  paused: boolean;
  tooSlow?: boolean;
  missing?: "nothing" | "no_keyframe" | null;
  show(what: Track | "activeSpeaker" | null): Promise<void>;
  attach(element: HTMLVideoElement): void;
  close(): Promise<void>;
}

// ---- calls

/** One user of a call. */
export interface Member {
  user: string;
  displayName?: string;
  state:
    | "inviting" | "ringing" | "busy_ringing" | "connecting" | "joined" | "reconnecting" | "declined" | "no_answer" | "left"
    | "lost" | "cancelled" | "busy" | "answered_by_other" | "unreachable" | "removed";
  reason?: string;
  media?: Media;
  invitedBy?: string;
  joinedAt?: number;
  leftAt?: number;
  /** Who moderates the group's room, and may end it for all. */
  role?: "host";
  text?: string;
}

/** How a call is answered, or joined. */
export interface EnterOptions {
  media?: Media;
  push?: unknown;
  metadata?: object;
  autoSubscribe?: boolean;
}

/** Events of a call. */
export interface CallEvents {
  changed: {};
  joined: { room: Room };
  accepted: { user: string; media: Media };
  active: { startedAt: number };
  invited: { inviter: string; users: string[] };
  typeChanged: { from: string; to: string };
  member: { what: string; member: Member; by?: string; text?: string; push?: any };
  mediaChangeRequested: { by: string; media: Media };
  mediaChanged: { by: string; media: Media; result: string };
  alone: { endsAt: number; remainingMs: number };
  stopped: { reason: string; code: number; by?: string; text?: string };
  ended: { reason: string; code?: number; by?: string; text?: string; durationMs?: number; record?: any };
}

/** A call that one has started, that rings here, or that one was ever in. */
export class Call extends Emitter<CallEvents> {
  private constructor();
  callId: string;
  kind: "one_to_one" | "one_to_many" | "group";
  media: Media;
  state: "" | "ringing" | "connecting" | "active" | "ended";
  rev: number;
  caller: string;
  members: Map<string, Member>;
  isRinging: boolean;
  inProgress: boolean;
  waiting: boolean;
  from: string;
  extra: any;
  createdAt: number | null;
  startedAt: number | null;
  endedAt: number | null;
  expiresAt: number | null;
  reason: string | null;
  by: string | null;
  text: string | null;
  mediaRequest: { by: string; media: Media } | null;
  readonly self: Member | null;
  readonly others: Member[];
  readonly joined: Member[];
  readonly ringing: Member[];
  readonly isOutgoing: boolean;
  readonly isOver: boolean;
  readonly room: Room | null;
  readonly durationMs: number;
  readonly remainingMs: number;
  accept(options?: EnterOptions): Promise<Room>;
  reject(options?: { text?: string; reason?: string; scope?: "everywhere" | "this_device"; push?: unknown }): Promise<void>;
  ignore(): Promise<void>;
  cancel(options?: { push?: unknown }): Promise<void>;
  hangup(options?: { text?: string; reason?: string; push?: unknown }): Promise<void>;
  invite(
    users: string[], options?: { extra?: unknown; push?: unknown; ringTimeoutMs?: number; busyPolicy?: "reject" | "ring" },
  ): Promise<{ invited: string[]; busy: string[]; failed: { user: string; error: any }[] }>;
  cancelInvite(users: string[]): Promise<void>;
  join(options?: EnterOptions): Promise<Room>;
  takeOver(options?: EnterOptions & { resumeToken?: string }): Promise<Room>;
  mediaChange(action: "request" | "accept" | "reject" | "cancel", media?: Media): Promise<void>;
  end(): Promise<void>;
  refresh(): Promise<Call>;
}

// ---- errors and helpers

/** Everything that goes wrong; `message` is a sentence for people. */
export class RoostError extends Error {
  constructor(code: number, detail?: string, data?: { [name: string]: any });
  code: number;
  detail: string;
  data: { retryable?: boolean; retryAfterMs?: number; limit?: number; count?: number; [name: string]: any };
  readonly retryable: boolean;
}

/** A sentence for people about a reason of the protocol. */
export function reasonSentence(reason: string, options?: { who?: string; outgoing?: boolean }): string;
/** Judges what was measured over some seconds: losses and frozen time as fractions. */
export function judgeQuality(seen: {
  connected: boolean; lossIn: number; lossOut: number; rttMs: number; frozen: number;
}): { level: "good" | "fair" | "poor"; why: string };
/** Whether a track is a shared screen. */
export function isScreen(track: Track | LocalTrack): boolean;
/** Microphones, cameras and loudspeakers. */
export function listDevices(): Promise<{ audio: MediaDeviceInfo[]; video: MediaDeviceInfo[]; output: MediaDeviceInfo[] }>;
/** Opens microphone, camera or both. */
export function openMedia(wanted: {
  audio?: boolean | string; video?: boolean | string; height?: number; music?: boolean;
}): Promise<{ audio: MediaStreamTrack | null; video: MediaStreamTrack | null }>;
/** Asks for a screen or window. */
export function openScreen(): Promise<MediaStreamTrack>;
/** The same with its sound, where browser and user give that. Publish it with the source `screen_audio`. */
export function openScreenMedia(wanted?: { audio?: boolean }): Promise<{ video: MediaStreamTrack; audio: MediaStreamTrack | null }>;
/** Where the server that a page came from has its WebSocket. */
export function rtcUrl(from?: { protocol: string; host: string }): string;

export type { Emitter };
