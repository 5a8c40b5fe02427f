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
  limits: wire.ServerLimits;
  iceServers: RTCIceServer[];
  /** Calls that ring here already, as on the wire. */
  ringing: wire.Call[];
  /** The call that one is in, as on the wire. */
  current?: wire.Call;
  missed: number;
}

/** An event as it came; a later server may know more of them, whose params nothing says. */
export type ProtocolEvent = { [Name in keyof wire.Events]: { method: Name; params: wire.Events[Name] } }[keyof wire.Events];

/** What goes with a method: nothing, or an object, which may be left out where all of it is optional. */
type Params<Name extends keyof wire.Requests> = wire.Requests[Name] extends null ? [params?: {}]
  : {} extends wire.Requests[Name] ? [params?: wire.Requests[Name]] : [params: wire.Requests[Name]];

/** Events of a client. */
export interface ClientEvents {
  state: { state: State; error?: RoostError | null };
  notification: ProtocolEvent;
  rejoined: { room: Room };
  incomingCall: { call: Call; from: string; inProgress: boolean; waiting: boolean };
  callCreated: { call: Call };
  callChanged: { call: Call };
  callMissed: { call: Call; why: string };
  callRecord: { record: wire.CallRecord };
  /** What one's token allows: at first, and when that changes. `room` where it is good for some rooms only. */
  grants: { grants: Grant[] | null; room?: string };
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
  request<Name extends keyof wire.Requests>(method: Name, ...params: Params<Name>): Promise<wire.Results[Name]>;
  join(name: string, options?: JoinOptions): Promise<Room>;
  rooms(): Promise<RoomInfo[]>;
  roomInfo(room: string): Promise<RoomInfo>;
  startCall(
    to: string[], options?: StartCallOptions,
  ): Promise<{ call: Call; room: Room; busy: string[]; unreachable: string[]; isGlare: boolean }>;
  call(callId: string): Call;
  currentCall(): Promise<Call | null>;
  availableCalls(): Promise<Call[]>;
  callHistory(options?: { before?: string; limit?: number }): Promise<wire.CallHistoryResult>;
  presence(users: string[]): Promise<wire.UserPresence[]>;
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
  notification: ProtocolEvent;
  resumed: { resync?: wire.Resync };
  restarted: { hello: Hello };
  grants: { grants: Grant[] | null; room?: string };
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
  request<Name extends keyof wire.Requests>(method: Name, ...params: Params<Name>): Promise<wire.Results[Name]>;
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
  /** What it carried until now: with the same `media` only its seats are others. */
  wasMedia: Media;
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
  /** One was moved to another room by an operator: `name`, `participants` and `chat` are that one's. Local tracks go on, or are refused. */
  switched: { from: string };
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
  quality: { people: Participant[]; own: wire.OwnQuality | null };
  chat: { message: ChatMessage };
  /** Somebody, or where `from` is empty the application, has sent a custom message. */
  message: { from: string; displayName?: string; topic: string; data: unknown };
  /** Somebody waits for an answer, until `expiresAt` by the server's clock. What is over is not told. `answer` is rejected with 3003 where nobody waits any more. */
  question: {
    requestId: string; from: string; displayName?: string; topic: string; data: unknown; expiresAt: number;
    answer(data: unknown): Promise<unknown>;
  };
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
  own: wire.OwnQuality | null;
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
  send(topic: string, data: unknown, options?: { to?: string[] }): Promise<{ delivered: number }>;
  ask(user: string, topic: string, data: unknown, options?: { timeoutMs?: number }): Promise<unknown>;
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
  member: { what: string; member: Member; by?: string; text?: string; push?: boolean };
  mediaChangeRequested: { by: string; media: Media };
  mediaChanged: { by: string; media: Media; result: string };
  alone: { endsAt: number; remainingMs: number };
  stopped: { reason: string; code: number; by?: string; text?: string };
  ended: { reason: string; code?: number; by?: string; text?: string; durationMs?: number; record?: wire.CallRecord };
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
  ): Promise<{ invited: string[]; busy: string[]; failed: wire.InviteFailure[] }>;
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

// ---- messages

// wire: begin
/** Objects as they are in messages: docs/protocol.md. Made by scripts/wire. */
export namespace wire {
  /** Params of `room.activeSpeakers`. */
  interface ActiveSpeakers {
    /** Name of the room. */
    room: string;
    /** Who speaks, loudest first; empty for silence. */
    speakers: Speaker[];
  }
  /** A track announced beside an offer. */
  interface AnnouncedTrack {
    /** Its media line. */
    mid: string;
    /** Audio or video, as on the line. */
    kind: TrackKind;
    /** What to call it, in words for people or for one's own program; at most 128 bytes. */
    label?: string;
    /** What it comes from: `camera`, `microphone`, `screen`, `screen_audio` (the sound of a shared screen). A client that shows a screen larger than people goes by this; of a track without it, by the label `screen`. */
    source?: TrackSource;
    /** Which of a device's views it is, 0 to 255. */
    viewIndex?: number;
    /** How one picture holds several views: any JSON up to 4 KiB. */
    split?: unknown;
    /** Names of the layers that are sent: `low`, `standard`, `high`. */
    definitions?: Definition[];
    /** Lines of the picture in each layer, lowest first: `[180, 360, 720]`; 1 to 16,384 each. It counts where there is one for each layer. */
    heights?: number[];
    /** Whether it starts muted; false when absent. */
    muted?: boolean;
    /** Whether the client does what `track.layers` tells; without it that event never comes. */
    pausesLayers?: boolean;
  }
  /** Whom an answer stops. */
  type AnswerPolicy = "first_wins" | "everyone";
  /** Params of `user.block` and `user.unblock`. */
  interface BlockParams {
    /** Whose calls shall not ring. */
    user: string;
  }
  /** Result of `user.blocked`. */
  interface BlockedResult {
    /** Whom one has blocked, in the order of their names. */
    users: string[];
  }
  /** What happens to a callee who is in another call. */
  type BusyPolicy = "reject" | "ring";
  /** A callee who was not rung. */
  interface BusyUser {
    /** Who. */
    user: string;
  }
  /** A call as it stands at `rev`. */
  interface Call {
    /** Names the call: a UUID. */
    callId: string;
    /** Its room, `call:<callId>`. */
    room: string;
    /** One to one, one to many, or group. */
    kind: CallKind;
    /** Audio or video. */
    media: MediaClass;
    /** Whom an answer stops. */
    answerPolicy: AnswerPolicy;
    /** What a reject ends. */
    rejectPolicy: RejectPolicy;
    /** What happens to one who is in another call. */
    busyPolicy: BusyPolicy;
    /** Ringing, connecting, active or ended. */
    state: CallState;
    /** Grows by one with each change. */
    rev: number;
    /** Who started it. */
    caller: string;
    /** Everybody it ever had. */
    members: Member[];
    /** What one of two asks the other for; seen by those who are in it. */
    mediaRequest?: MediaRequest;
    /** What the caller sent along; opaque, byte for byte as it was written. */
    extra?: unknown;
    /** When it was started, milliseconds since 1970. */
    createdAt: number;
    /** When it became active. */
    startedAt?: number;
    /** When it ended. */
    endedAt?: number;
    /** Why it ended. */
    reason?: Reason;
    /** Who ended it. */
    by?: string;
    /** When the ring ends, on the server's clock. */
    expiresAt?: number;
    /** The same, counted from this message. */
    remainingMs?: number;
  }
  /** Params of `call.accept`. */
  interface CallAcceptParams {
    /** Which call. */
    callId: string;
    /** What to answer with. */
    media?: MediaClass;
    /** Whether to take the leg of one's other device. */
    takeover?: boolean;
    /** Token of that device's session, where the server does not authenticate users. */
    resumeToken?: string;
    /** Handed to the push webhook as it was written. */
    push?: unknown;
    /** What to tell the others of oneself, at most 4 KiB; as in `room.join`. */
    metadata?: unknown;
    /** Whether to receive every track of the call; true when absent. */
    autoSubscribe?: boolean;
  }
  /** Params of `call.accepted`. */
  interface CallAccepted {
    /** Which call. */
    callId: string;
    /** The change this is. */
    rev: number;
    /** Who answered. */
    user: string;
    /** What he sends. */
    media: MediaClass;
  }
  /** Params of `call.active`. */
  interface CallActive {
    /** Which call. */
    callId: string;
    /** The change this is. */
    rev: number;
    /** When, the same for everybody, milliseconds since 1970. */
    startedAt: number;
  }
  /** Params of `call.alone`: one is the last in a group call, which ends by itself unless somebody comes. */
  interface CallAlone {
    /** Which call. */
    callId: string;
    /** The change this is. */
    rev: number;
    /** When it ends, milliseconds since 1970. */
    endsAt: number;
    /** The same, counted from this message. */
    remainingMs: number;
  }
  /** Params of `call.cancelInvite`. */
  interface CallCancelInviteParams {
    /** Which call. */
    callId: string;
    /** Who shall stop ringing. */
    users: string[];
  }
  /** Params of `call.cancel`. */
  interface CallCancelParams {
    /** Which call. */
    callId: string;
    /** Handed to the push webhook as it was written. */
    push?: unknown;
  }
  /** Result of `call.current`. */
  interface CallCurrentResult {
    /** The call one is in. */
    call?: Call;
  }
  /** Which way a call went. */
  type CallDirection = "in" | "out" | (string & {});
  /** Params of `call.ended`. */
  interface CallEnded {
    /** Which call. */
    callId: string;
    /** The change this is. */
    rev: number;
    /** Why. */
    reason: Reason;
    /** The reason's number. */
    code: number;
    /** Who ended it. */
    by?: string;
    /** What he said. */
    text?: string;
    /** From the answer to the end; 0 without an answer. */
    durationMs: number;
    /** What goes into one's list. */
    record?: CallRecord;
  }
  /** Params of `call.created`. */
  interface CallEvent {
    /** The call. */
    call: Call;
  }
  /** Params of `call.hangup`. */
  interface CallHangupParams {
    /** Which call; the one that one is in when absent. */
    callId?: string;
    /** Why. */
    reason?: Reason;
    /** What to tell the others. */
    text?: string;
    /** Handed to the push webhook as it was written. */
    push?: unknown;
  }
  /** Params of `call.history`. */
  interface CallHistoryParams {
    /** `next` of the page before. */
    before?: string;
    /** How many at most, 1 to 100; 50 when absent. */
    limit?: number;
  }
  /** Result of `call.history`. */
  interface CallHistoryResult {
    /** Newest first. */
    records: CallRecord[];
    /** Give it as `before` for the next page. */
    next?: string;
  }
  /** Params of `call.incoming`: ring. */
  interface CallIncoming {
    /** The call. */
    call: Call;
    /** Who calls or invites. */
    from: string;
    /** Whether others talk already. */
    inProgress: boolean;
    /** Whether one is in another call. */
    waiting: boolean;
    /** Who is in it. */
    participants?: Participant[];
  }
  /** Params of `call.invite`. */
  interface CallInviteParams {
    /** Which call. */
    callId: string;
    /** Whom to ring. */
    users: string[];
    /** Sent along as it was written; opaque. */
    extra?: unknown;
    /** Handed to the push webhook as it was written. */
    push?: unknown;
    /** How long to ring, 5,000 to 180,000. */
    ringTimeoutMs?: number;
    /** What happens to one who is in another call; `ring` when absent, whatever the call's own. */
    busyPolicy?: BusyPolicy;
  }
  /** Result of `call.invite`. */
  interface CallInviteResult {
    /** Who rings, or was in it already. */
    invited: string[];
    /** Who is in another call. */
    busy: BusyUser[];
    /** Who could not be rung, and why. */
    failed: InviteFailure[];
  }
  /** Params of `call.invited`. */
  interface CallInvited {
    /** Which call. */
    callId: string;
    /** The change this is. */
    rev: number;
    /** Who invites. */
    inviter: string;
    /** Whom. */
    users: string[];
  }
  /** Params of `call.join`. */
  interface CallJoinParams {
    /** Which call. */
    callId: string;
    /** What one sends. */
    media?: MediaClass;
    /** Whether to take the leg of one's other device. */
    takeover?: boolean;
    /** Token of that device's session, where the server does not authenticate users. */
    resumeToken?: string;
    /** What to tell the others of oneself, at most 4 KiB; as in `room.join`. */
    metadata?: unknown;
    /** Whether to receive every track of the call; true when absent. */
    autoSubscribe?: boolean;
  }
  /** Which kind of call it is. */
  type CallKind = "one_to_one" | "one_to_many" | "group";
  /** Result of `call.available`. */
  interface CallListResult {
    /** Running group calls that one may join. */
    calls: Call[];
  }
  /** Params of `call.mediaChangeRequested` and `call.mediaChanged`. */
  interface CallMediaChange {
    /** Which call. */
    callId: string;
    /** The change this is. */
    rev: number;
    /** Who asked. */
    by: string;
    /** What for. */
    media: MediaClass;
    /** How it came out. */
    result?: MediaChangeResult;
  }
  /** Params of `call.missed`. */
  interface CallMissed {
    /** Which call. */
    callId: string;
    /** Why it was missed. */
    why: Reason;
    /** The call. */
    call: Call;
  }
  /** Params of `call.ringing`, `call.get` and `call.end`. */
  interface CallParams {
    /** Which call. */
    callId: string;
  }
  /** A call as one user has it in his list. */
  interface CallRecord {
    /** Which call. */
    callId: string;
    /** Out for the caller, in for everybody else. */
    direction: CallDirection;
    /** How it came out for this user. */
    result: CallResult;
    /** Why it was missed or failed. */
    why?: Reason;
    /** Whether another of one's devices answered or rejected it. */
    elsewhere: boolean;
    /** When it began to ring, milliseconds since 1970. */
    startedAt: number;
    /** When it was answered. */
    answeredAt?: number;
    /** When it ended. */
    endedAt: number;
    /** From the answer to the end; 0 without an answer. */
    durationMs: number;
    /** The other users. */
    peers: string[];
    /** Its last kind. */
    kind: CallKind;
    /** Audio or video. */
    media: MediaClass;
    /** Who invited this user. */
    inviter?: string;
    /** Why it ended. */
    reason: Reason;
  }
  /** Params of `call.record`. */
  interface CallRecordEvent {
    /** What goes into one's list. */
    record: CallRecord;
    /** False where it is not on disk; absent where it is. */
    stored?: boolean;
  }
  /** Params of `call.reject`. */
  interface CallRejectParams {
    /** Which call. */
    callId: string;
    /** Why. */
    reason?: Reason;
    /** What to tell the caller. */
    text?: string;
    /** On all of one's devices, or this one; `everywhere` when absent. */
    scope?: RejectScope;
    /** Handed to the push webhook as it was written. */
    push?: unknown;
  }
  /** How a call came out for a user. */
  type CallResult = "answered" | "declined" | "missed" | "failed" | (string & {});
  /** Result of requests that answer with the call. */
  interface CallResultObject {
    /** The call. */
    call: Call;
  }
  /** Result of `call.accept` and `call.join`. */
  interface CallRoomResult {
    /** The call. */
    call: Call;
    /** Its room. */
    room: RoomSnapshot;
  }
  /** Params of `call.start`. */
  interface CallStartParams {
    /** Users; oneself is left out, and counts as nobody: 3012 when nobody is left. */
    to: string[];
    /** `one_to_one` (one user), `one_to_many`, `group`. */
    kind: CallKind;
    /** `video` (16 people) or `audio` (32); the caps are those of the kind `group` in `rooms.yaml`. One more gets 3014. */
    media: MediaClass;
    /** How long to ring, 5000 to 180000, kept within `calls.ring_timeout_min` and `_max`. */
    ringTimeoutMs?: number;
    /** `any_ends` (default for two) or `ignore` (the only one for a group): what the reject of one of those called does before anybody has answered. */
    rejectPolicy?: RejectPolicy;
    /** `first_wins` for `one_to_one` and `one_to_many`, `everyone` for `group`; anything else is −32602. */
    answerPolicy?: AnswerPolicy;
    /** `reject` (default for two) or `ring` (default for a group): what becomes of a callee who is in a call. Invitees have a policy of their own. */
    busyPolicy?: BusyPolicy;
    /** Any JSON up to 4 KiB, shown to all members byte for byte as it was written. */
    extra?: unknown;
    /** Any JSON up to 4 KiB for whoever wakes phones, byte for byte; also in accept, reject, cancel, hang-up and invite. */
    push?: unknown;
    /** Started again under the same name it is the same call, and rings nobody twice. */
    clientCallId?: string;
    /** Whether to hang up the call that one is in; else 3011 with its id in `reason`. */
    replace?: boolean;
    /** What to tell the others of oneself, as in `room.join`: any JSON up to 4 KiB, theirs to see in the room's `participants`; also in accept and join. */
    metadata?: unknown;
    /** Whether to receive every track of the call; true when absent. False for one who binds views; also in accept and join. */
    autoSubscribe?: boolean;
  }
  /** Result of `call.start`. */
  interface CallStartResult {
    /** The call. */
    call: Call;
    /** Its room. */
    room: RoomSnapshot;
    /** Callees in another call. */
    busy: BusyUser[];
    /** Callees without a device. */
    unreachable: BusyUser[];
    /** Whether the other side's call was joined instead. */
    glare?: boolean;
  }
  /** How far a call is. */
  type CallState = "ringing" | "connecting" | "active" | "ended" | (string & {});
  /** Params of `call.stopped`: stop ringing; the call may live on. */
  interface CallStopped {
    /** Which call. */
    callId: string;
    /** The change this is. */
    rev: number;
    /** Why. */
    reason: Reason;
    /** The reason's number. */
    code: number;
    /** Who made it stop. */
    by?: string;
    /** What he said. */
    text?: string;
  }
  /** Params of `call.typeChanged`. */
  interface CallTypeChanged {
    /** Which call. */
    callId: string;
    /** The change this is. */
    rev: number;
    /** What it was. */
    from: CallKind;
    /** What it is. */
    to: CallKind;
  }
  /** Params of `chat.history`. */
  interface ChatHistoryParams {
    /** The room one is in. */
    room: string;
    /** A `msgId`: only what is older. */
    before?: string;
    /** How many at most, 1 to 100; 50 when absent. */
    limit?: number;
  }
  /** Result of `chat.history`. */
  interface ChatHistoryResult {
    /** Messages that one may see, oldest first. */
    messages: Message[];
  }
  /** Params of `chat.send`. */
  interface ChatSendParams {
    /** The room one is in. */
    room: string;
    /** The text: 1 byte to 8 KiB. */
    text: string;
    /** Users it is for; all when absent or empty. */
    to?: string[];
    /** The client's own name for it: sent twice, it is delivered once. */
    clientMsgId?: string;
  }
  /** Result of `chat.send`. */
  interface ChatSendResult {
    /** Names the message. */
    msgId: string;
    /** When the server took it, milliseconds since 1970. */
    ts: number;
    /** How many others it went to at once. */
    delivered: number;
    /** Whether it is on disk. */
    stored: boolean;
  }
  /** What a client should do when the server is about to close. */
  type ClosingAction = "reconnect" | "resume" | "stop" | (string & {});
  /** Why the server is about to close. */
  type ClosingReason = "draining" | "idle" | "too_slow" | "abuse" | "token_expired" | "token_revoked" | (string & {});
  /** A media line, or one line of the description's text, that was not taken although the rest was. */
  interface DeclinedLine {
    /** The media line; empty for what belongs to none. */
    mid: string;
    /** Where a line of the text alone was left out, what it is, such as `a=extmap`: the media line was taken. */
    attribute?: string;
    /** Why. */
    error: ErrorObject;
  }
  /** A layer by its name; `auto` leaves the choice to the server. */
  type Definition = "low" | "standard" | "high" | "auto";
  /** Why a request was refused. The raw value is `code` on the wire. */
  type ErrorCode = number;
  /** `data` of an error object. What does not belong to an error is absent. */
  interface ErrorData {
    /** The code's name. */
    name: string;
    /** Whether the same request may succeed later with nobody doing anything; with 4006 once there is another media connection. */
    retryable: boolean;
    /** How long to wait before that. */
    retryAfterMs?: number;
    /** The step of media setup at fault. */
    step?: MediaStep;
    /** The parameter at fault, such as `tracks[0].mid`. */
    field?: string;
    /** What belongs there. */
    expected?: string;
    /** The media line at fault, where one is. */
    mid?: string;
    /** The bound that was reached. */
    limit?: number;
    /** How many there are. */
    count?: number;
    /** How many have a seat in a call. */
    joined?: number;
    /** For how many a seat is held in a call. */
    ringing?: number;
    /** Tells causes of one code apart: `device_in_use`, `resume_token`, `publishers`, `moderate`, `moderator`, `self`, `address`, `held`, `chat_disabled`, `denied`, `id_taken`, `reply_gone`, `caller`, `callee`, `pair`; for calls what has become of them; with 1011 the application's own word. */
    reason?: string;
    /** Who ended or answered a call. */
    by?: string;
    /** When a call ended, milliseconds since 1970. */
    endedAt?: number;
    /** When a ban ends, milliseconds since 1970. */
    until?: number;
  }
  /** A refusal as the client sees it. It can be thrown. */
  interface ErrorObject {
    /** What kind of refusal it is. */
    code: ErrorCode;
    /** A sentence for people. */
    message: string;
    /** What a program may want to know. */
    data: ErrorData;
  }
  /** One thing that somebody may do, by its name in tokens and in `session.grants`. */
  type Grant = "join" | "publish:audio" | "publish:video" | "publish:screen" | "subscribe" | "chat" | "call" | "invite"
    | "moderate" | "record" | "admin" | (string & {});
  /** Params of `session.hello`. */
  interface HelloParams {
    /** Who one is: 1 to 128 bytes, no control characters. An open server takes any name. */
    user: string;
    /** Proof of it, where the server asks for one; `user` is its `sub` then. An open server reads none. */
    token?: string;
    /** Which of one's devices this is; made up by the server (random) when absent, and returned. */
    deviceId?: string;
    /** What others see; `user` when absent. */
    displayName?: string;
    /** What the device can do: any JSON up to 4 KiB, shown by `user.query`. The server acts on `freshLines: true`, `wholeOffers: true` and `clientOffers: true`, and on nothing else in it. */
    capabilities?: unknown;
    /** Whether calls shall ring here; true when absent. */
    callable?: boolean;
    /** Token of the session that this one replaces, where the same user and device have one already. */
    resumeToken?: string;
    /** On an open server: whether to take that one's place without its token, once it is silent and where it came from the same network. */
    takeover?: boolean;
  }
  /** Result of `session.hello`. */
  interface HelloResult {
    /** Names the session in logs. */
    sessionId: string;
    /** A secret. It resumes the session, and lets its owner replace it or take its seat. Keep it for as long as the tab or process lives. */
    resumeToken: string;
    /** Who one is, as the server knows it. */
    user: string;
    /** Which device one is, as the server knows it. */
    deviceId: string;
    /** The server's clock, milliseconds since 1970. */
    serverTime: number;
    /** What the server takes, and how long it keeps what. */
    limits: ServerLimits;
    /** For `RTCPeerConnection`; each has `urls` and perhaps `username` and `credential`. Often empty: the server is reachable by itself. */
    iceServers: ICEServer[];
    /** Calls that ring for this user on this device. */
    ringing: Call[];
    /** The call this user is in; absent when in none. */
    current?: Call;
    /** Missed calls that one has not looked at. */
    missed: number;
  }
  /** A STUN or TURN server, as RTCIceServer has it. */
  interface ICEServer {
    /** `stun:`, `turn:` and `turns:` URLs. */
    urls: string[];
    /** TURN user name. */
    username?: string;
    /** TURN password. */
    credential?: string;
  }
  /** A user who could not be invited. */
  interface InviteFailure {
    /** Who. */
    user: string;
    /** Why. */
    error: ErrorObject;
  }
  /** The layer that is forwarded. */
  interface Layer {
    /** Its name. */
    definition?: Definition;
    /** The encoding's name in SDP. */
    rid?: string;
    /** Spatial layer within the encoding. */
    spatial?: number;
    /** Highest temporal layer forwarded. */
    temporal?: number;
    /** Width of the picture. */
    width?: number;
    /** Height of the picture. */
    height?: number;
  }
  /** Why a participant left. */
  type LeaveReason = "left" | "lost" | "replaced" | "removed" | "moved" | (string & {});
  /** What a `call.mediaChange` does. */
  type MediaChangeAction = "request" | "accept" | "reject" | "cancel";
  /** Params of `call.mediaChange`. */
  interface MediaChangeParams {
    /** Which call; the one that one is in when absent. */
    callId?: string;
    /** Ask, accept, reject or withdraw. */
    action: MediaChangeAction;
    /** What to change to. */
    media?: MediaClass;
  }
  /** How a change of media came out. */
  type MediaChangeResult = "accepted" | "rejected" | "cancelled" | "timeout" | (string & {});
  /** What a room or a call carries. */
  type MediaClass = "audio" | "video";
  /** Params of `media.connected` and `media.failed`. */
  interface MediaEvent {
    /** Which peer connection. */
    pc: PeerConnection;
    /** Where it failed. */
    step?: MediaStep;
    /** A sentence for people. */
    reason?: string;
  }
  /** A wish to change between audio and video that waits for its answer. */
  interface MediaRequest {
    /** Who asks. */
    by: string;
    /** Audio or video. */
    media: MediaClass;
  }
  /** Where a media connection failed. */
  type MediaStep = "ice" | "dtls" | "consent" | "sdp" | "route" | (string & {});
  /** One user of a call, for the life of the call. */
  interface Member {
    /** Who. */
    user: string;
    /** What others see. */
    displayName?: string;
    /** What has become of him. */
    state: MemberState;
    /** Why, when he is no longer in it. */
    reason?: Reason;
    /** What he sends. */
    media?: MediaClass;
    /** Who invited him. */
    invitedBy?: string;
    /** When he joined, milliseconds since 1970. */
    joinedAt?: number;
    /** When he left, milliseconds since 1970. */
    leftAt?: number;
    /** What he is beside the others; absent for who is nothing more. */
    role?: MemberRole;
  }
  /** Params of `member.*`. */
  interface MemberEvent {
    /** Which call. */
    callId: string;
    /** The change this is. */
    rev: number;
    /** The member, whole. */
    member: Member;
    /** Whose doing it is. */
    by?: string;
    /** What he said. */
    text?: string;
    /** Whether he is called by a push message. */
    push?: boolean;
  }
  /** What a member of a call is beside the others. */
  type MemberRole = "host" | (string & {});
  /** What has become of a member of a call. */
  type MemberState = "inviting" | "ringing" | "busy_ringing" | "connecting" | "joined" | "reconnecting" | "declined" | "no_answer"
    | "left" | "lost" | "cancelled" | "busy" | "answered_by_other" | "unreachable" | "removed" | (string & {});
  /** A chat message. */
  interface Message {
    /** Names the message; grows with time in its room. */
    msgId: string;
    /** The room it was sent in. */
    room: string;
    /** When the server took it, milliseconds since 1970. */
    ts: number;
    /** The user who sent it, as the server knows him. */
    from: string;
    /** What the sender was called then. */
    displayName?: string;
    /** The users it is for; absent when it is for all. */
    to?: string[];
    /** The text. */
    text: string;
  }
  /** Params of `message.answer`. */
  interface MessageAnswerParams {
    /** What is answered, as `message.requested` says. */
    requestId: string;
    /** Any JSON of at most 8 KiB but `null`, handed on byte for byte. */
    data: unknown;
  }
  /** Result of `message.request`, when the answer is there. */
  interface MessageAnswered {
    /** The user who has answered. */
    from: string;
    /** The answer, byte for byte. */
    data: unknown;
  }
  /** Payload of `message.received`. */
  interface MessageReceived {
    /** The room it was sent in; absent in a call. */
    room?: string;
    /** The call it was sent in; absent in a room. */
    callId?: string;
    /** The user who sent it, as the server knows them; empty where the application did, by the server's API. */
    from: string;
    /** What the sender is called. */
    displayName?: string;
    /** What it is about. */
    topic: string;
    /** What was sent, byte for byte. */
    data: unknown;
  }
  /** Params of `message.request`: a room, or a call. */
  interface MessageRequestParams {
    /** The room one is in; this or `callId`. */
    room?: string;
    /** The call one is in; this or `room`. */
    callId?: string;
    /** The user who is asked. */
    to: string;
    /** What it is about: a word of the application's, 1 to 64 bytes. */
    topic: string;
    /** Any JSON of at most 8 KiB but `null`, handed on byte for byte. */
    data: unknown;
    /** How long the answer may take, in milliseconds, 1,000 to 60,000; 10,000 when absent. */
    timeoutMs?: number;
  }
  /** Payload of `message.requested`. */
  interface MessageRequested {
    /** What `message.answer` names. */
    requestId: string;
    /** The room it was sent in; absent in a call. */
    room?: string;
    /** The call it was sent in; absent in a room. */
    callId?: string;
    /** The user who asks, as the server knows them. */
    from: string;
    /** What they are called. */
    displayName?: string;
    /** What it is about. */
    topic: string;
    /** What was sent, byte for byte. */
    data: unknown;
    /** Until when an answer is taken, milliseconds since 1970. */
    expiresAt: number;
    /** How long that is from now, in milliseconds. */
    remainingMs: number;
  }
  /** Params of `message.send`: a room, or a call. */
  interface MessageSendParams {
    /** The room one is in; this or `callId`. */
    room?: string;
    /** The call one is in; this or `room`. */
    callId?: string;
    /** Users it is for; all others when absent or empty. */
    to?: string[];
    /** What it is about: a word of the application's, 1 to 64 bytes. `dtmf` is that of tones. */
    topic: string;
    /** Any JSON of at most 8 KiB but `null`, handed on byte for byte. */
    data: unknown;
  }
  /** Result of `message.send`. */
  interface MessageSendResult {
    /** How many others it went to at once. */
    delivered: number;
  }
  /** Params of `room.moderate`. */
  interface ModerateParams {
    /** Name of the room, in which one has a seat. */
    room: string;
    /** What to do. */
    action: ModerationAction;
    /** To whom; absent: to all, where that makes sense. */
    user?: string;
    /** Of `mute`: which tracks; audio when absent. */
    kind?: TrackKind;
    /** Of `role`: which. */
    role?: RoomRole;
    /** Of `ban`: when it ends, milliseconds since 1970; absent: not by itself. At most what every reader of JSON takes (RFC 8259, section 6). */
    until?: number;
    /** Of `mute` and `stopVideo`: whether they may not unmute from now on (true), may again (false), or as before (absent). */
    hold?: boolean;
    /** Of `ban`: whether the address that they come from is kept out as well, for a time. */
    address?: boolean;
    /** Of `media`: what the room carries from now on. */
    media?: MediaClass;
  }
  /** What a moderator does. */
  type ModerationAction = "mute" | "stopVideo" | "kick" | "ban" | "unban" | "lock" | "unlock" | "lobby" | "admit" | "deny"
    | "role" | "disableChat" | "enableChat" | "lowerHand" | "media" | "end";
  /** Result of `track.mute` and `track.unmute`. */
  interface MuteResult {
    /** The state it is in now. */
    muted: boolean;
  }
  /** A line of a subscribe offer that carries media. */
  interface OfferedTrack {
    /** The line. */
    mid: string;
    /** The subscription. */
    subscriptionId: string;
    /** The track. */
    trackId: string;
    /** Who publishes it. */
    participantId: string;
    /** Audio or video. */
    kind: TrackKind;
  }
  /** A line of a subscribe offer that carries a view. */
  interface OfferedView {
    /** The line. */
    mid: string;
    /** The view. */
    subscriptionId: string;
  }
  /** What one is told of one's own ways. */
  interface OwnQuality {
    /** How good the worse of both is: `good`, `fair` (something may be noticed) or `poor` (it disturbs). */
    level: QualityLevel;
    /** Where it is not good: `interrupted` (nothing comes), `loss`, `bandwidth` (the line carries less than is wished for), `stalled` (pictures stand still), `delay`. */
    reason?: QualityReason;
    /** Which of them is not good: `up` from the client, `down` to the client. */
    way?: QualityWay;
    /** Milliseconds there and back; absent where nothing measures it. */
    rtt?: number;
    /** kbit/s that one's line is estimated to carry toward one; absent where it has shown no limit. */
    estimate?: number;
    /** The share of what is sent to one that gets lost, 0 to 1. */
    loss: number;
    /** kbit/s that are sent to one. */
    rate: number;
    /** Videos that one's line does not carry. */
    paused: number;
    /** Videos that stood still for two seconds. */
    freezes: number;
    /** What one publishes: `loss` (0 to 1, before repeats), `jitter` in milliseconds, `rate` in kbit/s. */
    tracks: OwnTrackQuality[];
  }
  /** One of one's own tracks on its way up. */
  interface OwnTrackQuality {
    /** Which. */
    trackId: string;
    /** The share of packets that got lost, 0 to 1; repeats may have made up for it. */
    loss: number;
    /** By how many milliseconds the time between packets varies. */
    jitter: number;
    /** kbit/s that arrive. */
    rate: number;
  }
  /** One person in a room. */
  interface Participant {
    /** Names the seat, also across reconnects and takeover. */
    participantId: string;
    /** Who it is. */
    user: string;
    /** What others see. */
    displayName: string;
    /** Joined, connecting or reconnecting. */
    state: ParticipantState;
    /** What he says of himself; opaque to the server. */
    metadata: unknown;
    /** What he publishes, oldest first. */
    tracks: Track[];
    /** Moderator or speaker; absent for all others. */
    role?: RoomRole;
    /** Since when a hand is up, milliseconds since 1970; absent while it is not. */
    handRaisedAt?: number;
  }
  /** Params of `room.participantJoined`, `Updated`, `Reconnecting` and `Reconnected`. */
  interface ParticipantEvent {
    /** Name of the room. */
    room: string;
    /** The participant, whole. */
    participant: Participant;
  }
  /** Params of `room.participantLeft`; his tracks end with it. */
  interface ParticipantLeft {
    /** Name of the room. */
    room: string;
    /** Who. */
    participantId: string;
    /** His user. */
    user: string;
    /** Why. */
    reason: LeaveReason;
  }
  /** Whether a participant is there. */
  type ParticipantState = "joined" | "connecting" | "reconnecting" | (string & {});
  /** One of the two peer connections of a seat, named by what the client does on it. */
  type PeerConnection = "publish" | "subscribe";
  /** One person's way up, as the others may see it. */
  interface PersonQuality {
    /** Whose. */
    participantId: string;
    /** How good it is. */
    level: QualityLevel;
    /** Why it is not good. */
    reason?: QualityReason;
  }
  /** Params of `pc.offer`. */
  interface PublishOfferParams {
    /** `publish`; `subscribe` from clients with the capability `clientOffers`: for all others the server offers there. */
    pc: PeerConnection;
    /** The offer. */
    sdp: string;
    /** Tracks that begin with it; those published before may be named again or left out. */
    tracks?: AnnouncedTrack[];
  }
  /** Result of `pc.offer`. */
  interface PublishResult {
    /** The answer. */
    sdp: string;
    /** All tracks that one publishes now. */
    tracks: PublishedLine[];
    /** Lines that were not taken, and what was left out of lines that were (their mid is in `tracks`); absent when all was taken. */
    declined?: DeclinedLine[];
  }
  /** A media line and the track it carries. */
  interface PublishedLine {
    /** The line. */
    mid: string;
    /** The track. */
    trackId: string;
  }
  /** How good the way of somebody's media is. */
  type QualityLevel = "good" | "fair" | "poor" | (string & {});
  /** Why it is not good. */
  type QualityReason = "interrupted" | "loss" | "bandwidth" | "stalled" | "delay" | (string & {});
  /** Which way is not good. */
  type QualityWay = "up" | "down" | (string & {});
  /** Params of `room.raiseHand`. */
  interface RaiseHandParams {
    /** Name of the room. */
    room: string;
    /** Whether the hand is up. */
    raised: boolean;
  }
  /** A reason in `call.ended`, `call.stopped`, `member.*` and records. The raw value is its name on the wire. */
  type Reason = "hangup" | "rejected" | "busy" | "no_answer" | "cancelled" | "answered_elsewhere" | "answered_by_other"
    | "rejected_elsewhere" | "rejected_by_other" | "unreachable" | "connect_failed" | "disconnected" | "stopped" | "removed"
    | "replaced" | "switched_call" | "caller_lost" | "network_changed" | "background" | "call_ended";
  /** What a reject ends. */
  type RejectPolicy = "any_ends" | "ignore";
  /** Where a reject counts. */
  type RejectScope = "everywhere" | "this_device";
  /** Params of `pc.restart`. */
  interface RestartParams {
    /** Always `subscribe`: for the other one the client offers. */
    pc: PeerConnection;
  }
  /** Params of `session.resume`. */
  interface ResumeParams {
    /** The token from `session.hello`. */
    resumeToken: string;
    /** The last event number that arrived. */
    lastSeq: number;
  }
  /** Result of `session.resume`. */
  type ResumeResult = { replayed: number } | { resync: Resync };
  /** State to start from again where too many events were missed. */
  interface Resync {
    /** The event number it stands at. */
    seq: number;
    /** The room one is in. */
    room?: RoomSnapshot;
    /** The call this device is in, or rings from. */
    call?: Call;
    /** The call that another device of this user is in. */
    current?: Call;
    /** Calls that ring for this user now. */
    ringing: Call[];
  }
  /** One who is kept out of a room. */
  interface RoomBan {
    /** Who. */
    user: string;
    /** When it ends, milliseconds since 1970 UTC; absent: not by itself. */
    until?: number;
  }
  /** Params of `room.closed`: one is no longer in the room. */
  interface RoomClosed {
    /** Name of the room. */
    room: string;
    /** Why. */
    reason: RoomClosedReason;
  }
  /** Why one is no longer in a room that one has not left. */
  type RoomClosedReason = "closed" | "lost" | "replaced" | "removed" | (string & {});
  /** A room as one who is not in it sees it. */
  interface RoomInfo {
    /** Name of the room. */
    name: string;
    /** Its kind, as configured. */
    kind: string;
    /** Audio or video; what a first joiner gets by default while that is undecided. */
    media: MediaClass;
    /** Seats. */
    limit: number;
    /** Seats taken. */
    count: number;
    /** How many publish something; in `room.info` alone. */
    publishers?: number;
    /** What moderators have made of the room; in `room.info` alone, and absent where all is as usual. */
    moderation?: RoomModeration;
  }
  /** Params of `room.join`. */
  interface RoomJoinParams {
    /** Name of the room: 1 to 128 bytes, printable, no blank at either end. Names that begin with `call:` get 1005. */
    room: string;
    /** What others see; that of `session.hello` when absent. 2003 when somebody else in the room has it, or one that reads the same. */
    displayName?: string;
    /** `video` or `audio`: the class of a room that is empty and whose class is left to the first joiner; `video` when absent; ignored otherwise. */
    media?: MediaClass;
    /** What to tell the others of oneself: any JSON up to 4 KiB; `{}` when absent. */
    metadata?: unknown;
    /** Whether to receive every track of the room; true when absent. */
    autoSubscribe?: boolean;
    /** How many views to open with the seat, 0 to 49. With one or more `autoSubscribe` means sound alone. A room without video opens none. Says nothing when one sits in the room already. */
    views?: number;
    /** Whether to take the seat of one's other device. */
    takeover?: boolean;
    /** Token of that device's session, where the server does not authenticate users. */
    resumeToken?: string;
  }
  /** Params of `room.knock`: somebody waits in the lobby, or waits no more. Moderators alone hear it. */
  interface RoomKnock {
    /** Name of the room. */
    room: string;
    /** Who. */
    user: string;
    /** What they call themselves. */
    displayName: string;
    /** Whether they have gone away unheard; absent: they wait. */
    gone?: boolean;
  }
  /** Params of `room.list`. */
  interface RoomListParams {
    /** `next` of the page before. */
    after?: string;
    /** How many at most, 1 to 100; 100 when absent. */
    limit?: number;
  }
  /** Result of `room.list`: one page. */
  interface RoomListResult {
    /** Named rooms and those with somebody in them, by name. */
    rooms: RoomInfo[];
    /** `after` of the next page; nil when this is the last one. */
    next?: string;
  }
  /** Params of `room.moderated`: a moderator has done something. */
  interface RoomModerated {
    /** Name of the room. */
    room: string;
    /** The user who did it; absent: the server itself. */
    by?: string;
    /** What it was. */
    action: ModerationAction;
    /** To whom; absent: to all. */
    user?: string;
    /** Which tracks. */
    kind?: TrackKind;
    /** Which role. */
    role?: RoomRole;
    /** When a ban ends, milliseconds since 1970. */
    until?: number;
    /** Whether they may not unmute from now on, or may again. */
    hold?: boolean;
    /** What the room carries from now on. */
    media?: MediaClass;
    /** How many people it takes then. */
    limit?: number;
  }
  /** What moderators have made of a room. What is as usual is absent. */
  interface RoomModeration {
    /** Nobody more is let in; this is in `room.info`, too. */
    locked?: boolean;
    /** Who comes waits to be admitted; this is in `room.info`, too. */
    lobby?: boolean;
    /** Moderators alone may write; this is in `room.info`, too. */
    chatDisabled?: boolean;
    /** Kinds of tracks that oneself may not unmute. */
    held?: TrackKind[];
    /** For moderators: `kind`, and `users` who may not unmute. With `everybody: true` it is all but `users`. */
    holds?: TrackHold[];
    /** For moderators: who waits in the lobby, the first first. */
    waiting?: Waiting[];
    /** For moderators: who is kept out, and `until` when (without it, until they are let in). Of many it is the first hundred by name; operators see all. `room.moderated` tells of what follows. */
    bans?: RoomBan[];
  }
  /** Params of `room.leave` and `room.info`. */
  interface RoomParams {
    /** Name of the room. */
    room: string;
  }
  /** Params of `room.quality`. */
  interface RoomQuality {
    /** Name of the room. */
    room: string;
    /** Whose way up is better or worse than was told before. */
    people: PersonQuality[];
    /** One's own ways, where this is about them. */
    own?: OwnQuality;
  }
  /** What somebody is in a room. */
  type RoomRole = "moderator" | "speaker" | "participant";
  /** A room as it stands at `seq`: every event with a larger `seq` comes on top of it, none before it does. */
  interface RoomSnapshot {
    /** Name of the room. */
    room: string;
    /** Its kind, as configured. */
    kind: string;
    /** Audio or video. */
    media: MediaClass;
    /** Seats. */
    limit: number;
    /** Seats taken. */
    count: number;
    /** The session's event number that this stands at. */
    seq: number;
    /** The participant that is oneself. */
    self: string;
    /** Everybody in the room, oneself included, in the order of joining. */
    participants: Participant[];
    /** Recent messages that one may see, oldest first. */
    chat: Message[];
    /** One's own views; absent where one has none. `view.changed` says what they show. */
    views?: string[];
    /** What moderators have made of the room; absent where all is as usual. */
    moderation?: RoomModeration;
  }
  /** What one publishes goes on, as far as the other room takes it: one's own tracks in the snapshot are what is left. One's subscriptions are over, without an event for each; views go on and show nothing at first. */
  interface RoomSwitched {
    /** Name of the room that one was in. */
    from: string;
    /** The room that one is in now, with one's own tracks. */
    snapshot: RoomSnapshot;
    /** Whether one has to make both peer connections anew, and publish again: the other room's media are handled elsewhere. Absent: both go on. */
    reconnect?: boolean;
  }
  /** What the server takes from this session. */
  interface ServerLimits {
    /** Bytes in one text frame. */
    messageBytes: number;
    /** Bytes of UTF-8 in one chat message. */
    chatBytes: number;
    /** Bytes of JSON in a participant's metadata. */
    metadataBytes: number;
    /** Tracks that one participant may publish, unless the room says less. */
    tracks: number;
    /** Missed events that a resume can replay. */
    replayEvents: number;
    /** How long a lost session keeps its seat. */
    resumeGraceMs: number;
    /** How often the server pings a session that only waits: its client need not ask more often whether the server is there. Nil from a server that does not say so. */
    idlePingMs?: number;
  }
  /** Params of event `session.closing`. */
  interface SessionClosing {
    /** What the client should do. */
    action: ClosingAction;
    /** Why. */
    reason: ClosingReason;
    /** How long to wait before that. */
    retryAfterMs?: number;
  }
  /** Params of event `session.expiring`: the token of the session is over soon. `session.token` shows the next one. */
  interface SessionExpiring {
    /** What the token says of its end (`exp`), by the server's clock, milliseconds since 1970. */
    expiresAt: number;
    /** How long it is until then, from when this was sent; a minute where the token was good for that long. Never below 0. */
    remainingMs: number;
  }
  /** Params of event `session.grants`. */
  interface SessionGrants {
    /** What one may do from now on. */
    grants: Grant[];
    /** In which rooms, as a token says it; absent: in all. */
    room?: string;
  }
  /** One who speaks. */
  interface Speaker {
    /** Who. */
    participantId: string;
    /** How loud, in -dBov (RFC 6464): 0 is the loudest, 127 silence. */
    level: number;
  }
  /** Params of `pc.answer`. */
  interface SubscribeAnswerParams {
    /** The offer it answers. */
    offerId: number;
    /** The answer. */
    sdp: string;
  }
  /** Params of event `pc.offer`: the client must answer with `pc.answer`. */
  interface SubscribeOffer {
    /** Names the offer in the answer. */
    offerId: number;
    /** The offer. */
    sdp: string;
    /** Every line that carries a track, not only new ones. */
    tracks: OfferedTrack[];
    /** Every line that carries a view; absent where one has none. */
    views?: OfferedView[];
  }
  /** Params of `track.subscribe`. */
  interface SubscribeParams {
    /** A track of the room. */
    trackId: string;
    /** The layer wished for; `auto` when absent. */
    definition?: Definition;
    /** Where the client shows it, 0 to 255. Nothing of it is kept or done by the server, which has one subscription a track. */
    view?: number;
    /** Which of several matters more, 0 to 255; 0 when absent. */
    priority?: number;
    /** Of video: the height at which it is shown, in pixels of the device, 0 to 16,384; 0 while it is not shown. */
    maxHeight?: number;
  }
  /** Result of `track.subscribe`. */
  interface SubscribeResult {
    /** Names the subscription. */
    subscriptionId: string;
  }
  /** Params of `subscription.started`, `paused`, `resumed`, `layer` and `ended`. */
  interface SubscriptionEvent {
    /** Which. */
    subscriptionId: string;
    /** Why. */
    reason?: SubscriptionReason;
    /** Of `no_media`: what is missing. */
    step?: SubscriptionStep;
    /** What is forwarded now. */
    layer?: Layer;
  }
  /** Params of `track.unsubscribe`. */
  interface SubscriptionParams {
    /** One's own subscription. */
    subscriptionId: string;
  }
  /** Why a subscription changed. */
  type SubscriptionReason = "request" | "track_ended" | "bandwidth" | "last_n" | "no_media" | "refused" | "no_codec" | "too_many"
    | "forbidden" | (string & {});
  /** What is missing of a subscription's track. */
  type SubscriptionStep = "nothing" | "no_keyframe" | (string & {});
  /** Params of `track.update`; what is absent stays as it is. */
  interface SubscriptionUpdateParams {
    /** One's own subscription. */
    subscriptionId: string;
    /** The layer wished for. */
    definition?: Definition;
    /** Whether to send nothing for now. */
    paused?: boolean;
    /** Which of several matters more, 0 to 255. */
    priority?: number;
    /** Of video: the height at which it is shown, in pixels of the device, 0 to 16,384; 0 while it is not shown. */
    maxHeight?: number;
  }
  /** Params of `subscription.swap`: each shows the other's track from now on. */
  interface SwapParams {
    /** One's own subscription. */
    a: string;
    /** Another of the same kind. */
    b: string;
  }
  /** Params of `session.token`. */
  interface TokenParams {
    /** A further token of the same user. */
    token: string;
  }
  /** One published audio or video track. */
  interface Track {
    /** Names the track; opaque, never used again. */
    trackId: string;
    /** Audio or video. */
    kind: TrackKind;
    /** What the publisher calls it; may be empty. */
    label: string;
    /** What it comes from, where the publisher says so. */
    source?: TrackSource;
    /** Whether its media stops at the server. */
    muted: boolean;
    /** Which of a device's views this is. */
    viewIndex?: number;
    /** How one picture holds several views; opaque to the server. */
    split?: unknown;
    /** Layers a subscriber may choose from; empty when there is nothing to choose. */
    definitions: Definition[];
  }
  /** Params of `room.trackUnpublished`, `trackMuted` and `trackUnmuted`. */
  interface TrackChange {
    /** Name of the room. */
    room: string;
    /** Whose. */
    participantId: string;
    /** Which track. */
    trackId: string;
  }
  /** Who may not unmute tracks of one kind. */
  interface TrackHold {
    /** Which tracks. */
    kind: TrackKind;
    /** Whether it is everybody but `users` rather than `users` alone. Moderators are never meant. */
    everybody: boolean;
    /** By name. */
    users: string[];
  }
  /** What a track carries. */
  type TrackKind = "audio" | "video";
  /** Params of `track.layers`. */
  interface TrackLayersEvent {
    /** Which of the client's own tracks. */
    trackId: string;
    /** The simulcast layers to send, counted from 0 for the lowest, which is always one of them. The others are to be paused. */
    layers: number[];
  }
  /** Params of `track.unpublish`, `track.mute` and `track.unmute`. */
  interface TrackParams {
    /** One's own track. */
    trackId: string;
  }
  /** Params of `room.trackPublished`. */
  interface TrackPublished {
    /** Name of the room. */
    room: string;
    /** Whose. */
    participantId: string;
    /** The track. */
    track: Track;
  }
  /** What a track comes from. */
  type TrackSource = "camera" | "microphone" | "screen" | "screen_audio" | (string & {});
  /** What is known of a user. */
  interface UserPresence {
    /** Who. */
    user: string;
    /** Whether a device is connected that a call would ring. */
    reachable: boolean;
    /** Whether he is in a call. */
    inCall: boolean;
    /** Devices connected. */
    devices: number;
    /** What each of them said in `session.hello`. */
    capabilities: unknown[];
  }
  /** Params of `user.query`. */
  interface UserQueryParams {
    /** Whom to ask about, at most 100. */
    users: string[];
  }
  /** Result of `user.query`. */
  interface UserQueryResult {
    /** One entry for each user asked about, in that order. */
    users: UserPresence[];
  }
  /** Params of `view.changed`: a view shows something else from now on. */
  interface ViewChanged {
    /** The view. */
    subscriptionId: string;
    /** What it shows; absent for nothing. */
    trackId?: string;
    /** Whose that is. */
    participantId?: string;
    /** The RTP time stamp of the first picture of it; absent where none is to be expected now. */
    rtpTimestamp?: number;
    /** Why it shows nothing, where that was not wished for. */
    reason?: SubscriptionReason;
  }
  /** What a view shows by itself. */
  type ViewFollow = "activeSpeaker";
  /** Params of `view.open`. */
  interface ViewOpenParams {
    /** How many more, 1 to 49. */
    count: number;
    /** What they carry; `video` where absent. */
    kind?: TrackKind;
  }
  /** Result of `view.open`. */
  interface ViewOpenResult {
    /** The new ones, each a subscription that shows nothing yet. */
    views: string[];
  }
  /** Params of `view.show`. */
  interface ViewShowParams {
    /** What is to change, all in one step; 1 to 49. */
    views: ViewWish[];
  }
  /** What one view is to show: a track, or what it follows, or (where both are absent) nothing. */
  interface ViewWish {
    /** The view. */
    subscriptionId: string;
    /** A track of somebody in the room, of the view's kind. */
    trackId?: string;
    /** What to show by itself. */
    follow?: ViewFollow;
  }
  /** One who waits in the lobby. */
  interface Waiting {
    /** Who. */
    user: string;
    /** What they call themselves. */
    displayName: string;
  }
  /** Params of each method; null for one that has none. */
  interface Requests {
    "session.hello": HelloParams;
    "session.resume": ResumeParams;
    "session.token": TokenParams;
    "session.bye": null;
    "ping": null;
    "user.query": UserQueryParams;
    "user.block": BlockParams;
    "user.unblock": BlockParams;
    "user.blocked": null;
    "room.join": RoomJoinParams;
    "room.leave": RoomParams;
    "room.list": RoomListParams;
    "room.info": RoomParams;
    "room.moderate": ModerateParams;
    "room.raiseHand": RaiseHandParams;
    "chat.send": ChatSendParams;
    "chat.history": ChatHistoryParams;
    "message.send": MessageSendParams;
    "message.request": MessageRequestParams;
    "message.answer": MessageAnswerParams;
    "pc.offer": PublishOfferParams;
    "pc.answer": SubscribeAnswerParams;
    "pc.restart": RestartParams;
    "track.unpublish": TrackParams;
    "track.mute": TrackParams;
    "track.unmute": TrackParams;
    "track.subscribe": SubscribeParams;
    "track.unsubscribe": SubscriptionParams;
    "track.update": SubscriptionUpdateParams;
    "subscription.swap": SwapParams;
    "view.open": ViewOpenParams;
    "view.show": ViewShowParams;
    "call.start": CallStartParams;
    "call.ringing": CallParams;
    "call.accept": CallAcceptParams;
    "call.reject": CallRejectParams;
    "call.cancel": CallCancelParams;
    "call.hangup": CallHangupParams;
    "call.invite": CallInviteParams;
    "call.cancelInvite": CallCancelInviteParams;
    "call.join": CallJoinParams;
    "call.get": CallParams;
    "call.current": null;
    "call.available": null;
    "call.history": CallHistoryParams;
    "call.mediaChange": MediaChangeParams;
    "call.end": CallParams;
  }
  /** The result of each method. */
  interface Results {
    "session.hello": HelloResult;
    "session.resume": ResumeResult;
    "session.token": {};
    "session.bye": {};
    "ping": {};
    "user.query": UserQueryResult;
    "user.block": {};
    "user.unblock": {};
    "user.blocked": BlockedResult;
    "room.join": RoomSnapshot;
    "room.leave": {};
    "room.list": RoomListResult;
    "room.info": RoomInfo;
    "room.moderate": {};
    "room.raiseHand": {};
    "chat.send": ChatSendResult;
    "chat.history": ChatHistoryResult;
    "message.send": MessageSendResult;
    "message.request": MessageAnswered;
    "message.answer": {};
    "pc.offer": PublishResult;
    "pc.answer": {};
    "pc.restart": {};
    "track.unpublish": {};
    "track.mute": MuteResult;
    "track.unmute": MuteResult;
    "track.subscribe": SubscribeResult;
    "track.unsubscribe": {};
    "track.update": {};
    "subscription.swap": {};
    "view.open": ViewOpenResult;
    "view.show": {};
    "call.start": CallStartResult;
    "call.ringing": {};
    "call.accept": CallRoomResult;
    "call.reject": CallResultObject;
    "call.cancel": CallResultObject;
    "call.hangup": CallResultObject;
    "call.invite": CallInviteResult;
    "call.cancelInvite": {};
    "call.join": CallRoomResult;
    "call.get": CallResultObject;
    "call.current": CallCurrentResult;
    "call.available": CallListResult;
    "call.history": CallHistoryResult;
    "call.mediaChange": {};
    "call.end": CallResultObject;
  }
  /** What every event has beside its own fields. */
  interface Envelope {
    /** Counts the session's events from 1, without gaps. */
    seq: number;
    /** The server's clock, milliseconds since 1970. */
    serverTime: number;
  }
  /** Params of each event. */
  interface Events {
    "session.closing": Envelope & SessionClosing;
    "session.replaced": Envelope;
    "session.grants": Envelope & SessionGrants;
    "session.expiring": Envelope & SessionExpiring;
    "room.participantJoined": Envelope & ParticipantEvent;
    "room.participantUpdated": Envelope & ParticipantEvent;
    "room.participantReconnecting": Envelope & ParticipantEvent;
    "room.participantReconnected": Envelope & ParticipantEvent;
    "room.participantLeft": Envelope & ParticipantLeft;
    "room.trackPublished": Envelope & TrackPublished;
    "room.trackUnpublished": Envelope & TrackChange;
    "room.trackMuted": Envelope & TrackChange;
    "room.trackUnmuted": Envelope & TrackChange;
    "room.activeSpeakers": Envelope & ActiveSpeakers;
    "room.quality": Envelope & RoomQuality;
    "room.closed": Envelope & RoomClosed;
    "room.switched": Envelope & RoomSwitched;
    "room.moderated": Envelope & RoomModerated;
    "room.knock": Envelope & RoomKnock;
    "chat.message": Envelope & Message;
    "message.received": Envelope & MessageReceived;
    "message.requested": Envelope & MessageRequested;
    "pc.offer": Envelope & SubscribeOffer;
    "subscription.started": Envelope & SubscriptionEvent;
    "subscription.paused": Envelope & SubscriptionEvent;
    "subscription.resumed": Envelope & SubscriptionEvent;
    "subscription.layer": Envelope & SubscriptionEvent;
    "subscription.ended": Envelope & SubscriptionEvent;
    "track.layers": Envelope & TrackLayersEvent;
    "view.changed": Envelope & ViewChanged;
    "media.connected": Envelope & MediaEvent;
    "media.failed": Envelope & MediaEvent;
    "call.created": Envelope & CallEvent;
    "call.incoming": Envelope & CallIncoming;
    "call.stopped": Envelope & CallStopped;
    "call.ended": Envelope & CallEnded;
    "call.accepted": Envelope & CallAccepted;
    "call.active": Envelope & CallActive;
    "call.alone": Envelope & CallAlone;
    "call.invited": Envelope & CallInvited;
    "call.typeChanged": Envelope & CallTypeChanged;
    "call.mediaChangeRequested": Envelope & CallMediaChange;
    "call.mediaChanged": Envelope & CallMediaChange;
    "call.missed": Envelope & CallMissed;
    "call.record": Envelope & CallRecordEvent;
    "member.ringing": Envelope & MemberEvent;
    "member.busy": Envelope & MemberEvent;
    "member.declined": Envelope & MemberEvent;
    "member.noAnswer": Envelope & MemberEvent;
    "member.left": Envelope & MemberEvent;
    "member.removed": Envelope & MemberEvent;
    "member.state": Envelope & MemberEvent;
  }
}
// wire: end
