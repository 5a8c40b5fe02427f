// What a synthetic participant is told before it joins: where, as whom, and what it sends.

import Basics
import RoostClient
import RoostProtocol

/// One participant: whom it plays, what it publishes and how its network behaves.
public struct SyntheticConfiguration: Sendable {
  /// The server's signalling address, such as `ws://127.0.0.1:8080/rtc`.
  public var url: String
  /// The room to join.
  public var room: String
  /// The identity; with a track's label it makes the identity that payloads carry, so it must differ among participants.
  public var user: String
  /// What they show at a server that asks for a token.
  public var token: String?
  /// What others see; nil leaves it to the server.
  public var displayName: String?
  /// One of the user's devices.
  public var deviceId: String?
  /// The media class asked for at the join; nil leaves it to the room.
  public var roomMedia: MediaClass?
  /// The sound to publish; nil for none.
  public var audio: AudioPlan? = AudioPlan()
  /// The pictures to publish, one plan a track.
  public var video: [VideoPlan] = [VideoPlan()]
  /// The `resumeToken` of the session that may still have this user's seat: the join takes it over then; nil joins anew.
  public var takesOver: String?
  /// Whether tracks of others are subscribed to.
  public var receives = true
  /// Whether to go on sending a track while it is muted: then it is the server that has to stop it.
  public var sendsWhileMuted = true
  /// How the network treats this participant's packets, until `setImpairments` says otherwise.
  public var impairments = Impairments()
  /// How it tells the server about its line.
  public var feedback = BandwidthFeedback.twcc
  /// The layer that it asks for of each video; nil leaves it to the server.
  public var definition: Definition?
  /// What it does wrong on purpose.
  public var misbehaviour: Set<Misbehaviour> = []
  /// Which end of the DTLS handshakes it is. As the server it says `a=setup:passive`, and the conference server must begin.
  public var dtlsRole = DTLSRole.client
  /// Whether RTP is opened and sealed by the server's own SRTP instead of libsrtp2, which costs five times as much: for crowds
  /// of whom some others are there who use libsrtp2.
  public var usesServersSRTP = false
  /// Whether to open, where everything flows, only the packets of some reads, and to count those between them by their headers.
  /// What is missing is not asked for then. For crowds of whom some others are there who check everything.
  public var spotChecks = false
  /// Makes what looks at the frames of each received stream, given whether it is sound; nil looks at none.
  public var inspector: (@Sendable (_ isAudio: Bool) -> any FrameInspector)?
  /// What a broken server would do to what it receives; for tests of the checks.
  public var fault: ServerFault?
  /// Feeds phases, SSRCs and losses: equal seeds behave equally.
  public var seed: UInt64
  /// Where media sockets are bound, port 0: the wildcard of IPv4, or of IPv6 to use IPv6 candidates.
  public var bindAddress = SocketAddress(v4: 0, port: 0)
  /// How the signalling session behaves.
  public var session = SessionOptions()
  /// Whom it plays by another door than the native one (`SyntheticParticipant.play`); nil for one who joins by the native door.
  public var plays: PlayerPlan?

  /// A participant that sends one sound and one picture and receives everything.
  public init(url: String, room: String, user: String, seed: UInt64? = nil) {
    self.url = url
    self.room = room
    self.user = user
    self.seed = seed ?? PayloadStamp.identity(user: user, label: "")
  }
}

/// What a participant does that an ordinary one does not.
public enum Misbehaviour: Sendable, Hashable, CaseIterable {
  /// Its descriptions name the fingerprint of a certificate that it does not have.
  case wrongFingerprint
  /// Its ClientHello comes in two datagrams, as browsers' large ones do. Not wrong, only rare.
  case splitClientHello
}

/// A track of sound: Opus packets that hold no sound but a stamp.
public struct AudioPlan: Sendable, Hashable {
  /// What the track is called.
  public var label = "microphone"
  /// Bytes of a packet; at least `PayloadStamp.length` + 1. 80 bytes every 20 ms are 32 kbit/s.
  public var packetBytes = 80
  /// From a packet to the next: 20 ms as browsers have it, up to 120 ms (RFC 7587 §4.2) for fewer packets, and up to 1000 as of one
  /// who sends nothing between them.
  public var packetMilliseconds = 20
  /// Real sound, a packet each; nil for packets that hold a stamp alone.
  public var clip: MediaClip?
  /// −dBov, as the audio level extension says it: 0 the loudest, 127 silence.
  public var level: UInt8 = 30
  /// Whether the track begins muted.
  public var startsMuted = false

  /// 32 kbit/s at −30 dBov.
  public init() {}
}

/// A track of pictures: VP8 with the shape of a camera's stream and a stamp in each packet.
public struct VideoPlan: Sendable, Hashable {
  /// What the track is called; must differ among the tracks of one participant.
  public var label = "camera"
  /// Frames a second.
  public var framesPerSecond = 30
  /// One layer without a rid, or several for simulcast, lowest first.
  public var layers = [VideoLayer()]
  /// Real pictures, one clip a layer; without them packets hold a stamp alone.
  public var clips: [MediaClip] = []
  /// Which of a device's views this is.
  public var viewIndex: Int?
  /// What it is announced to come from; nil: nothing is said of it.
  public var source: TrackSource?
  /// How the picture holds several views.
  public var split: JSONValue?
  /// Whether the track begins muted.
  public var startsMuted = false

  /// 30 frames a second in four packets each: about 1 Mbit/s.
  public init() {}

  /// The same with three layers, `l`, `m` and `h`, each about three times the one below.
  public static var simulcast: VideoPlan {
    var plan = VideoPlan()
    plan.layers = [
      VideoLayer(rid: "l", width: 320, height: 180, packetsPerFrame: 1, packetsPerKeyframe: 4),
      VideoLayer(rid: "m", width: 640, height: 360, packetsPerFrame: 3, packetsPerKeyframe: 12),
      VideoLayer(rid: "h", width: 1280, height: 720, packetsPerFrame: 8, packetsPerKeyframe: 32),
    ]
    return plan
  }
}

/// One encoding of a video track.
public struct VideoLayer: Sendable, Hashable {
  /// Its name in SDP (RFC 8851); nil for the only layer of a track.
  public var rid: String?
  /// Width that keyframes say.
  public var width: UInt16
  /// Height that keyframes say.
  public var height: UInt16
  /// Packets of an ordinary frame, sent back to back.
  public var packetsPerFrame: Int
  /// Packets of a keyframe.
  public var packetsPerKeyframe: Int
  /// Bytes of RTP payload in a packet.
  public var packetBytes: Int

  /// 640 × 360 in four packets of 1,050 bytes, five times that for a keyframe.
  public init(
    rid: String? = nil, width: UInt16 = 640, height: UInt16 = 360, packetsPerFrame: Int = 4,
    packetsPerKeyframe: Int = 20, packetBytes: Int = 1_050
  ) {
    self.rid = rid
    self.width = width
    self.height = height
    self.packetsPerFrame = packetsPerFrame
    self.packetsPerKeyframe = packetsPerKeyframe
    self.packetBytes = packetBytes
  }
}
