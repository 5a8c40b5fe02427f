// rooms.yaml to values: what is taken, and what each mistake is told.
import Basics
import Foundation
import TestSupport
import Testing

@testable import Configuration

private func parse(_ text: String) throws -> ServerConfiguration {
  try ServerConfiguration.parse(Array(text.utf8), file: "rooms.yaml")
}

/// What is said about a text, one line each; empty when it is right.
func complaints(_ text: String) -> [String] { complaints(Array(text.utf8)) }
func complaints(_ bytes: [UInt8]) -> [String] {
  do {
    _ = try ServerConfiguration.parse(bytes, file: "f")
    return []
  } catch {
    return error.issues.map(\.description)
  }
}

@Suite struct ValueTests {
  @Test func everySectionIsTaken() throws {
    let configuration = try parse(
      """
      listen:
        {address: "::1", port: 9000, tls: {certificate: /c.pem, key: /k.pem}, allowed_origins: ["https://a.b"],
        hosts: [a.b, "::1"], hsts: 1h, trusted_proxies: [127.0.0.1, 10.0.0.0/8, "2001:db8::/32"]}
      media:
        port: 5000
        workers: 0
        cpus: [1, 3]
        addresses: [127.0.0.1, "::1"]
        advertise: [192.0.2.1]
        max_bitrate: 300kbps
        cut_above: 150
        checks_per_second: 40
        video_codecs: [AV1, VP8]
        receive_buffer: 1MiB
        full_above: 60
        srtp: openssl
        coalesce: {video: 0, audio: 0.25ms, audience: 20ms}
      chat: {text_bytes: 100, messages_per_second: 1, burst: 2}
      messages: {per_second: 20, burst: 30}
      limits: {rooms: 7, message_bytes: 64KiB, connections: 10}
      sessions: {resume_grace: 500ms, ping_interval: 1s, dead_after: 3s, idle_ping: 45s}
      calls: {ring_timeout: 5.5s, alone_timeout: 0, tombstone: 7d, connect_timeout: 2m}
      log: {level: debug, format: json}
      ice_servers: [{urls: ["stun:a"]}, {urls: ["turn:b:3478?transport=udp"], username: u, credential: p}]
      flashphoner: {port: 8443, proxy_protocol: true}
      admin: {port: 9090, address: "::1", metrics: everyone, token: 0123456789abcdef}
      """)
    #expect(configuration.listen.url == "https://[::1]:9000")
    #expect(configuration.listen.tls == .init(certificate: "/c.pem", key: "/k.pem"))
    #expect(configuration.listen.allowedOrigins == ["https://a.b"])
    #expect(configuration.listen.hosts == ["a.b", "::1"])
    #expect(configuration.media.port == 5000 && configuration.media.port(ofWorker: 3) == 5003)
    #expect(configuration.media.workerCount(cpus: 6) == 6)
    #expect(try configuration.media.places(ofWorkers: 3, among: [0, 1, 2, 3]) == [1, 3, 1])
    #expect(try configuration.media.places(ofWorkers: 2, among: [1, 3]) == [0, 1])
    #expect(throws: ServerConfiguration.MissingCPU(number: 3)) {
      try configuration.media.places(ofWorkers: 1, among: [0, 1])
    }
    let free = ServerConfiguration.Media()
    #expect(try free.places(ofWorkers: 1, among: [0, 1]) == [nil])
    #expect(try free.places(ofWorkers: 3, among: [4, 5]) == [0, 1, 0])
    #expect(configuration.media.addresses.map(\.host) == ["127.0.0.1", "::1"])
    #expect(configuration.media.advertise.map(\.host) == ["192.0.2.1"])
    #expect(configuration.media.maxBitsPerSecond == 300_000 && configuration.media.videoBitsPerSecond == 450_000)
    #expect(configuration.media.mostChecksPerSecond == 40)
    var unbounded = configuration.media
    (unbounded.cutAbove, unbounded.checksPerSecond) = (0, 0)
    #expect(unbounded.mostChecksPerSecond == nil && ServerConfiguration.Media().mostChecksPerSecond == 20)
    #expect(unbounded.videoBitsPerSecond == nil && ServerConfiguration.Media().videoBitsPerSecond == 5_000_000)
    #expect(configuration.media.videoCodecs == [.av1, .vp8])
    #expect(configuration.media.receiveBufferBytes == 1 << 20 && configuration.media.srtp == .openSSL)
    #expect(configuration.media.coalesceVideo == .zero && configuration.media.coalesceAudio == .microseconds(250))
    #expect(configuration.media.fullAbove == 60)
    #expect(configuration.media.coalesceAudience == .milliseconds(20))
    #expect(configuration.chat.textBytes == 100 && configuration.chat.burst == 2)
    #expect(configuration.messages.perSecond == 20 && configuration.messages.burst == 30)
    #expect(configuration.limits.rooms == 7 && configuration.limits.messageBytes == 65_536)
    #expect(configuration.sessions.resumeGrace == .milliseconds(500))
    #expect(configuration.sessions.idlePing == .seconds(45))
    #expect(configuration.calls.ringTimeout == .milliseconds(5_500) && configuration.calls.aloneTimeout == .zero)
    #expect(
      configuration.calls.tombstone == .seconds(7 * 86_400) && configuration.calls.connectTimeout == .seconds(120))
    #expect(configuration.calls.resumeGrace == .milliseconds(500), "as in sessions")
    #expect(configuration.log.level == .debug && configuration.log.format == .json)
    #expect(configuration.iceServers.map(\.urls) == [["stun:a"], ["turn:b:3478?transport=udp"]])
    #expect(configuration.iceServers.last?.username == "u" && configuration.admin.metrics == .everyone)
    #expect(configuration.admin.token == "0123456789abcdef")
    #expect(configuration.admin.ownAddress?.description == "[::1]:9090")
    #expect(configuration.listen.trustedProxies.map(\.description) == ["127.0.0.1", "10.0.0.0/8", "2001:db8::/32"])
    #expect(configuration.listen.strictTransport == .seconds(3_600))
    #expect(!configuration.listen.proxyProtocol && configuration.flashphoner.proxyProtocol)
  }

  @Test func roomsTakeTheirKindAndOverrideIt() throws {
    let configuration = try parse(
      """
      kinds:
        stage: {limits: {audio: 200}, publishers: 4, players: 300, audio_loudest: 6, audio_bitrate: 510kbps, chat_history: 0, video_last_n: 9}
        demo: {limits: 5}
      rooms:
        lobby: {kind: stage, media: audio, limits: 50}
        "42": {kind: demo, tracks_per_participant: 1}
      unknown_rooms: refuse
      """)
    let lobby = try #require(configuration.settings(forRoom: "lobby"))
    #expect(lobby.kind == "stage" && lobby.videoLimit == 50 && lobby.audioLimit == 50)
    #expect(lobby.videoLastN == 9 && configuration.settings(forRoom: "42")?.videoLastN == nil)
    #expect(lobby.media == .audio && lobby.publishers == 4 && lobby.chatHistory == 0)
    #expect(lobby.audioLoudest == 6 && RoomSettings.group.audioLoudest == nil)
    #expect(lobby.audioBitsPerSecond == 510_000 && RoomSettings.group.audioBitsPerSecond == 128_000)
    let demo = try #require(configuration.settings(forRoom: "42"))
    #expect(demo.videoLimit == 5 && demo.media == .video && demo.tracksPerParticipant == 1)
    let stage = try #require(configuration.kinds["stage"])
    #expect(stage.videoLimit == 16 && stage.audioLimit == 200 && stage.media == .firstJoiner && stage.players == 300)
    #expect(configuration.settings(forRoom: "demo") == nil, "the rooms that are written replace the default one")
    #expect(configuration.kinds["broadcast"] == .broadcast)
  }

  @Test func unknownNamesAreCreatedFromTheirKind() throws {
    let standard = ServerConfiguration()
    #expect(standard.settings(forRoom: "demo") == .demo && standard.settings(forRoom: "anything") == .group)
    let other = try parse("unknown_rooms: {create: broadcast}")
    #expect(other.settings(forRoom: "anything") == .broadcast && other.settings(forRoom: "demo") == .demo)
    let none = try parse("rooms: {}\nunknown_rooms: refuse")
    #expect(none.settings(forRoom: "demo") == nil)
  }

  @Test func relativePathsStartAtTheFile() throws {
    let text = Array("listen: {tls: {certificate: tls/c.pem, key: /k.pem}}".utf8)
    let configuration = try ServerConfiguration.parse(text, file: "/etc/roost/rooms.yaml")
    #expect(configuration.listen.tls == .init(certificate: "/etc/roost/tls/c.pem", key: "/k.pem"))
    #expect(configuration.storage.path == "/etc/roost/roost.db", "the default, too")
    let written = try ServerConfiguration.parse(Array("storage: {path: data/r.db}".utf8), file: "/etc/roost/rooms.yaml")
    #expect(written.storage.path == "/etc/roost/data/r.db")
  }

  @Test(arguments: [
    (TimeDelta.milliseconds(1_500), "1500ms"), (.seconds(15), "15s"), (.seconds(60), "1m"), (.seconds(7_200), "2h"),
    (.zero, "0"),
  ]) func durationsAreShownAsTheyAreWritten(delta: TimeDelta, text: String) {
    #expect(durationText(delta) == text)
  }
}

@Suite struct WebhookConfigurationTests {
  @Test func anEndpointHasUpToThreeSecrets() throws {
    #expect(ServerConfiguration.Webhooks.Endpoint.mostSecrets == 3)
    let secrets = (1...4).map { "a long secret of the test \($0)" }
    func text(_ count: Int) -> String {
      "webhooks: {events: {url: \"https://a.b/\", secret: [\(secrets.prefix(count).joined(separator: ", "))]}}"
    }
    for count in 1...3 {
      let configuration = try ServerConfiguration.parse(Array(text(count).utf8), file: "f")
      #expect(configuration.webhooks.events?.secrets == Array(secrets.prefix(count)))
    }
    #expect(complaints(text(4)).contains { $0.contains("a list of 1 to 3") && !$0.contains("secret of the test") })
    #expect(complaints(text(0)).contains { $0.contains("a list of 1 to 3") })
    let twice = "webhooks: {events: {url: \"https://a.b/\", secret: [\(secrets[0]), \(secrets[0])]}}"
    #expect(complaints(twice).contains { $0.contains("secret[2]") && !$0.contains("secret of the test") })
  }

  @Test func chatIsForTheWebServerThatWishesIt() throws {
    let chat = "webhooks: {events: {url: \"https://a.b/\", secret: a secret of twenty characters, chat: true}}"
    #expect(try ServerConfiguration.parse(Array(chat.utf8), file: "f").webhooks.tellsChat)
    #expect(!ServerConfiguration().webhooks.tellsChat)
    #expect(!complaints("webhooks: {push: {chat: true}}").isEmpty)
  }

  @Test func eventsAreKeptForATimeAndInASize() throws {
    let text = "webhooks: {keep: {time: 30d, size: 64MiB}}"
    let keep = try ServerConfiguration.parse(Array(text.utf8), file: "f").webhooks.keep
    #expect(keep.time == .seconds(30 * 86_400) && keep.size == 64 << 20)
    #expect(ServerConfiguration().webhooks.keep.time == .seconds(7 * 86_400))
    #expect(!complaints("webhooks: {keep: {size: 1KiB}}").isEmpty && !complaints("webhooks: {keep: 7d}").isEmpty)
  }
}

@Suite struct ComplaintTests {
  /// What is to be kept secret is in no log, even where it is too short to be one.
  @Test(arguments: [
    "admin: {token: hunter2}", "admin: {token: \"hunter2\"}",
    "webhooks: {events: {url: \"https://a.b\", secret: hunter2}}",
    "webhooks: {push: {url: \"https://a.b\", secret: hunter2}}",
    "webhooks: {push: {url: \"https://a.b\", secret: [hunter2 hunter2 hunter2, hunter2]}}",
    "ice_servers: [{urls: [\"turn:a.b\"], username: u, credential: \"hunter2\\u0007\"}]",
  ])
  func secretsAreNotShown(text: String) {
    let found = complaints(text)
    #expect(found.contains { $0.contains("characters") }, "\(found)")
    #expect(!found.contains { $0.contains("hunter2") }, "\(found)")
  }

  @Test(arguments: [
    ("media: {prot: 1}", "f:1:9: media.prot: unknown key; did you mean \"port\"?"),
    ("Limits: {}", "f:1:1: Limits: unknown key; did you mean \"limits\"?"),
    ("sessions:\n  dead-after: 20s", "f:2:3: sessions.dead-after: unknown key; did you mean \"dead_after\"?"),
    ("admin: {colour: red}", "f:1:9: admin.colour: unknown key; known here: address, metrics, port, tls, token"),
    (
      "admin: {token: short}",
      "f:1:16: admin.token: expected a text of 16 to 1000 printable characters, found one of 5 "
        + "characters, 5 bytes"
    ),
    (
      "admin: {token: \(String(repeating: "x", count: 1001))}",
      "f:1:16: admin.token: expected a text of 16 to 1000 printable characters, found one of 1001 "
        + "characters, 1001 bytes"
    ),
    (
      "admin: {port: 8080}",
      "f:1:15: admin.port: 8080 is the port of listen; the listener for operators needs one of its own"
    ),
    (
      "flashphoner: {port: 8443}\nadmin: {port: 8443}",
      "f:2:15: admin.port: 8443 is flashphoner.port; the listener for operators needs one of its own"
    ),
    (
      "admin: {tls: {certificate: c, key: k}}",
      "f:1:14: admin.tls: is for a port of its own, which it needs beside it; else that of listen.tls counts"
    ),
    (
      "listen: {proxy_protocol: true}",
      "f:1:26: listen.proxy_protocol: then nobody could connect: name the proxies in listen.trusted_proxies"
    ),
    (
      "listen: {trusted_proxies: [10.0.0.1/8]}",
      "f:1:28: listen.trusted_proxies[1]: expected an address or a network such as 192.0.2.1, 10.0.0.0/8 or "
        + "\"2001:db8::/32\", no bits behind it, found 10.0.0.1/8"
    ),
    (
      "listen: {trusted_proxies: [0.0.0.0/0]}",
      "f:1:28: listen.trusted_proxies[1]: expected an address or a network such as 192.0.2.1, 10.0.0.0/8 or "
        + "\"2001:db8::/32\", no bits behind it, found 0.0.0.0/0"
    ),
    ("media:\n  port: many", "f:2:9: media.port: expected a number from 1 to 65535, found many"),
    ("listen: {port: 70000}", "f:1:16: listen.port: expected a number from 1 to 65535, found 70000"),
    ("listen: {port: \"80\"}", "f:1:16: listen.port: expected a number from 1 to 65535, found the text \"80\""),
    ("listen: {port: [80]}", "f:1:16: listen.port: expected a number from 1 to 65535, found a list"),
    ("listen: 8080", "f:1:9: listen: expected a block of keys, found 8080"),
    ("- a", "f:1:1: expected a block of keys, found a list"),
    (
      "listen: {address: localhost}",
      "f:1:19: listen.address: expected an IPv4 or IPv6 address such as 192.0.2.1 or \"2001:db8::1\", found localhost"
    ),
    (
      "listen: {allowed_origins: [\"*\", example.org]}",
      "f:1:33: listen.allowed_origins[2]: expected an origin such as https://example.org, https://*.example.org or "
        + "capacitor://localhost, \"null\", "
        + "or \"*\", found example.org"
    ),
    (
      "listen: {tls: {key: /k.pem}}",
      "f:1:15: listen.tls.certificate: TLS needs both: the path of a certificate and of its key"
    ),
    (
      "media: {advertise: [0.0.0.0]}",
      "f:1:21: media.advertise[1]: 0.0.0.0 stands for all addresses; clients need one that they can send to"
    ),
    ("media: {addresses: []}", "f:1:20: media.addresses: expected a list of 1 to 64 values, found a list"),
    ("media: {addresses: [0.0.0.0, 0.0.0.0]}", "f:1:30: media.addresses[2]: 0.0.0.0 stands here twice"),
    (
      "media: {port: 65530, workers: 8}",
      "f:1:15: media.port: the last of 8 workers would have a port above 65535"
    ),
    (
      "media: {video_codecs: [vp8]}",
      "f:1:24: media.video_codecs[1]: expected one of VP8, VP9, H264, AV1, found vp8; did you mean VP8?"
    ),
    ("media: {max_bitrate: 2500}", "f:1:22: media.max_bitrate: expected a bitrate from 50kbps to 100Mbps, found 2500"),
    ("media: {send_buffer: 1KiB}", "f:1:22: media.send_buffer: expected a size such as 64KiB or 256MiB, found 1KiB"),
    (
      "media: {srtp: ipsecmb}",
      "f:1:15: media.srtp: expected one of auto, ipsec-mb, openssl, libsrtp, found ipsecmb; did you mean ipsec-mb?"
    ),
    (
      "media: {checks_per_second: 1001}",
      "f:1:28: media.checks_per_second: expected a number from 0 to 1000, found 1001"
    ),
    ("media: {full_above: 101}", "f:1:21: media.full_above: expected a number from 1 to 100, found 101"),
    (
      "media: {coalesce: {audience: 41ms}}",
      "f:1:30: media.coalesce.audience: expected a duration such as 500ms, 15s, 5m or 24h, from 0 to 40ms, found 41ms"
    ),
    (
      "media: {coalesce: {audio: 1s}}",
      "f:1:27: media.coalesce.audio: expected a duration such as 500ms, 15s, 5m or 24h, from 0 to 10ms, found 1s"
    ),
    (
      "calls: {ring_timeout: 30}",
      "f:1:23: calls.ring_timeout: expected a duration such as 500ms, 15s, 5m or 24h, from 1ms to 1h, found 30"
    ),
    (
      "sessions: {ping_interval: 20s}",
      "f:1:27: sessions.ping_interval: dead_after (15s) must be longer than ping_interval (20s)"
    ),
    (
      "sessions: {ping_interval: 10s, idle_ping: 9s}",
      "f:1:43: sessions.idle_ping: idle_ping (9s) must not be shorter than ping_interval (10s)"
    ),
    (
      "calls: {ring_timeout_min: 10m}",
      "f:1:27: calls.ring_timeout_min: ring_timeout_min (10m) must not be longer than ring_timeout_max (3m)"
    ),
    (
      "calls: {ring_timeout: 10m}",
      "f:1:23: calls.ring_timeout: ring_timeout (10m) must not be longer than ring_timeout_max (3m)"
    ),
    (
      "calls: {ring_timeout_max: 20s}",
      "f:1:27: calls.ring_timeout_max: ring_timeout (30s) must not be longer than ring_timeout_max (20s)"
    ),
    (
      "calls: {ring_timeout: 4s}",
      "f:1:23: calls.ring_timeout: ring_timeout_min (5s) must not be longer than ring_timeout (4s)"
    ),
    ("messages: {burst: 0}", "f:1:19: messages.burst: expected a number from 1 to 100000, found 0"),
    ("chat: {text_bytes: 9KiB}", "f:1:20: chat.text_bytes: expected a size such as 1 or 8KiB, found 9KiB"),
    (
      "log: {level: warn}",
      "f:1:14: log.level: expected one of debug, info, warning, error, found warn; did you mean warning?"
    ),
    ("kinds: {a: {limits: {video: 0}}}", "f:1:29: kinds.a.limits.video: expected a number from 1 to 100000, found 0"),
    ("kinds: {a: {limits: [1]}}", "f:1:21: kinds.a.limits: expected a block of keys, found a list"),
    (
      "kinds: {a: {audio_bitrate: 511kbps}}",
      "f:1:28: kinds.a.audio_bitrate: expected a bitrate from 6kbps to 510kbps, found 511kbps"
    ),
    ("kinds: {a: {audio_loudest: 0}}", "f:1:28: kinds.a.audio_loudest: expected a number from 1 to 64, found 0"),
    ("kinds: {a: {limits: 2, publishers: 3}}", "f:1:36: kinds.a.publishers: 3 publishers do not fit 2 seats"),
    (
      "rooms: {x: {kind: demmo}}",
      "f:1:19: rooms.x.kind: expected a kind (broadcast, demo, group, stream), found demmo; did you mean demo?"
    ),
    ("rooms: {x: {}}", "f:1:9: rooms.x.kind: a room needs a kind: broadcast, demo, group, stream"),
    (
      "rooms: {\"call:1\": {kind: demo}}",
      "f:1:9: rooms.call:1: not a name: expected 1 to 128 bytes of printable characters, without blanks at the ends, "
        + "that do not begin with call:"
    ),
    (
      "kinds: {stage: {media: video, limits: {video: 2}, publishers: 9}}",
      "f:1:63: kinds.stage.publishers: 9 publishers do not fit 2 seats"
    ),
    (
      "unknown_rooms: allow",
      "f:1:16: unknown_rooms: expected \"refuse\", or \"create:\" with the name of a kind, found allow"
    ),
    (
      "unknown_rooms: {create: x}",
      "f:1:25: unknown_rooms.create: expected a kind (broadcast, demo, group, stream), found x"
    ),
    ("unknown_rooms: {}", "f:1:16: unknown_rooms: needs \"create:\" with the name of a kind"),
    ("ice_servers: [{}]", "f:1:15: ice_servers[1]: needs urls: a list of stun: or turn: URLs"),
    (
      "ice_servers: [{urls: [http://x]}]",
      "f:1:23: ice_servers[1].urls[1]: expected a URL such as stun:stun.example.org or "
        + "turn:turn.example.org:3478?transport=udp, found http://x"
    ),
    (
      "ice_servers: [{urls: [\"stun:x\", \"turn:x\"]}]",
      "f:1:15: ice_servers[1]: needs username and credential: browsers take no TURN server without"
    ),
    (
      "listen: {hosts: [\"a.b:80\"]}",
      "f:1:18: listen.hosts[1]: expected a name such as conf.example.org or an address, without a port, or \"*\", found "
        + "the text \"a.b:80\""
    ),
    (
      "listen: {allowed_origins: [\"https://a.b:443\"]}",
      "f:1:28: listen.allowed_origins[1]: browsers leave :443 out; expected https://a.b"
    ),
    (
      "ice_servers: [{urls: [\"turn:x\"], username: u}]",
      "f:1:15: ice_servers[1]: needs username and credential, or neither"
    ),
  ]) func oneMistakeIsToldOnce(text: String, complaint: String) {
    #expect(complaints(text) == [complaint])
  }

  @Test func everyMistakeOfAFileIsToldInItsOrder() {
    let found = complaints("media:\n  workers: -1\n  colour: red\nlisten:\n  port: x\nlog: {format: xml}")
    #expect(
      found.map { $0.prefix { $0 != " " } } == ["f:2:12:", "f:3:3:", "f:5:9:", "f:6:15:"])
  }

  @Test func missingFilesAreToldWhenTheyAreLookedFor() throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("listen: {tls: {certificate: here.pem, key: gone.pem}}")
    try folder.write("x", to: "here.pem")
    let complaint = "\(file):1:44: listen.tls.key: \(folder.path("gone.pem")) cannot be read: No such file or directory"
    #expect { try ServerConfiguration.load(file: file) } throws: { "\($0)" == complaint }
    #expect { try ServerConfiguration.load(file: folder.path("none.yaml")) } throws: {
      "\($0)" == "\(folder.path("none.yaml")): cannot be read: No such file or directory"
    }
    #expect { try ServerConfiguration.load(file: folder.path()) } throws: {
      "\($0)" == "\(folder.path()): cannot be read: Is a directory"
    }
  }
}

@Suite struct YAMLTests {
  @Test(arguments: [
    ("a: &x 1\nb: *x", "f:1:4: anchors (&name) are not taken: write the value out"),
    ("b: *x", "f:1:4: aliases (*name) are not taken: write the value out"),
    ("a: !!int 1", "f:1:4: tags (!name) are not taken"),
    ("chat: {}\nchat: {}", "f:2:1: the key \"chat\" stands already in line 1"),
    ("? [a]\n: 1", "f:1:3: a key must be plain text"),
    ("chat: {}\n---\nchat: {}", "f:2:1: a second document is not expected"),
    (String(repeating: "[", count: 40), "f:1:17: nested too deeply"),
    (
      "chat:\n  burst: 1\n bursts: 2",
      "f:3:2: not valid YAML: did not find expected key while parsing a block mapping"
    ),
    ("a: \"x", "f:1:6: not valid YAML: found unexpected end of stream while scanning a quoted scalar"),
    ("a:\t- b: c: d", "f:1:4: not valid YAML: block sequence entries are not allowed in this context"),
  ]) func whatWeDoNotTakeIsTold(text: String, complaint: String) {
    #expect(complaints(text) == [complaint])
  }

  @Test func bytesThatAreNoTextAreTold() {
    #expect(complaints([0x61, 0x3a, 0x20, 0xff]) == ["f:1:1: invalid leading UTF-8 octet (near byte 3)"])
    #expect(complaints([0x61, 0x3a, 0x20, 0x00]).count == 1)
  }

  @Test func ofManyKindsSomeAreListed() {
    let kinds = (1...200).map { "a-kind-with-a-long-name-\($0): {}" }.joined(separator: ", ")
    let long = "\(String(repeating: "e\u{301}", count: 300)): {}"
    do {
      _ = try ServerConfiguration.parse(Array("kinds: {\(kinds), \(long)}\nrooms: {x: {kind: y}}".utf8), file: "f")
      Issue.record("there is no such kind")
    } catch {
      let complaints = error.issues.map(\.description).filter { $0.contains("expected a kind (a-kind-with") }
      #expect(complaints.count == 1 && complaints[0].contains(" and ") && complaints[0].hasSuffix(" more), found y"))
      #expect(error.issues.allSatisfy { $0.description.utf8.count < 1000 })
    }
  }

  @Test func sizeAndNumberAreBounded() {
    #expect(complaints([UInt8](repeating: 32, count: 1 << 20)) == [])
    #expect(complaints([UInt8](repeating: 32, count: 1 << 20 + 1)) == ["f:1:1: the file is larger than 1048576 bytes"])
    // The file and the list are two of the fifty thousand.
    for (items, isTaken) in [(49_998, true), (49_999, false)] {
      let found = complaints("a: [" + String(repeating: "1,", count: items) + "]")
      #expect(found.count == 1 && found[0].hasSuffix("too many values") != isTaken, "\(items): \(found)")
    }
  }

  /// The file itself is a level, and so is a value.
  @Test func depthIsBounded() {
    for (lists, value, isTaken) in [(15, "", true), (16, "", false), (14, "1", true), (15, "1", false)] {
      let text = "a: " + String(repeating: "[", count: lists) + value + String(repeating: "]", count: lists)
      let found = complaints(text)
      #expect(found.count == 1 && found[0].hasSuffix("nested too deeply") != isTaken, "\(text): \(found)")
    }
  }

  @Test func manyComplaintsAboutHugeKeysStayReadable() {
    let found = complaints(String(repeating: "k", count: 900) + ": 1")
    #expect(found.count == 1 && found[0].utf8.count < 300)
  }
}

@Suite struct FlashphonerConfigurationTests {
  private func read(_ text: String) throws -> ServerConfiguration {
    try ServerConfiguration.parse(Array(text.utf8), file: "f")
  }

  @Test func itIsOffUnlessItHasAPort() throws {
    #expect(try read("").flashphoner.port == nil)
    let given = try read("flashphoner: {port: 8443, app_keys: [myApp], tls: {certificate: /a, key: /b}}").flashphoner
    #expect(given.port == 8443 && given.appKeys == ["myApp"])
    #expect(given.tls == ServerConfiguration.TLSFiles(certificate: "/a", key: "/b"))
  }

  @Test(arguments: [
    ("flashphoner: {port: 8080}", "flashphoner.port", "the port of listen"),
    ("flashphoner: {port: 0}", "flashphoner.port", "expected"),
    ("flashphoner: {port: 8443, tls: {certificate: /a}}", "flashphoner.tls.key", "TLS needs both"),
    ("flashphoner: {port: 8443, app_keys: []}", "flashphoner.app_keys", "expected"),
    ("flashphoner: {ports: 8443}", "flashphoner.ports", "did you mean \"port\"?"),
  ]) func mistakesAreNamed(text: String, key: String, words: String) {
    do {
      _ = try read(text)
      Issue.record("\(text) was taken")
    } catch let error as InvalidConfiguration {
      #expect(error.issues.contains { $0.key == key && $0.message.contains(words) }, "\(error.issues)")
    } catch {
      Issue.record("\(error)")
    }
  }
}
