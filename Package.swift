// swift-tools-version: 6.2
// The whole of Roost. Imports point down only: docs/architecture.md says what each target is for.
// ROOST_PART=ConferenceTests,ServerTests leaves out whatever those targets do not need, so that little is built for one test.
import PackageDescription

/// Every Swift target is held to the same rules: Swift 6 mode, warnings are errors.
let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
]

/// Memory safety is held as well: what the compiler cannot prove is marked `unsafe`, and a comment says what makes it right.
let safe: [SwiftSetting] = strict + [.strictMemorySafety()]

/// A module on a packet's way: in a release the compiler inlines and specialises across the borders of these. None of them comes
/// with RoostClient or RoostAdmin, which others take by version: packages with `unsafeFlags` cannot be taken so by every SwiftPM.
func hot(_ name: String, _ dependencies: [Target.Dependency], _ settings: [SwiftSetting] = strict) -> Target {
  let flags = SwiftSetting.unsafeFlags(["-cross-module-optimization"], .when(configuration: .release))
  return .target(name: name, dependencies: dependencies, swiftSettings: settings + [flags])
}

func module(
  _ name: String, _ dependencies: [Target.Dependency] = [], path: String? = nil, _ settings: [SwiftSetting] = strict
) -> Target {
  .target(name: name, dependencies: dependencies, path: path, swiftSettings: settings)
}

/// The first dependency is what is tested, where the tests only compute (scripts/check). `exclude` names files that the tests read where they lie.
func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
  .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict)
}

// libipsec-mb exists for x86-64 only; elsewhere its fence compiles to "not available".
#if arch(x86_64)
  let ipsecMB: [Target.Dependency] = ["CIPSecMB"]
  let ipsecMBLibrary: [Target] = [.systemLibrary(name: "CIPSecMB", providers: [.apt(["libipsec-mb-dev"])])]
#else
  let ipsecMB: [Target.Dependency] = []
  let ipsecMBLibrary: [Target] = []
#endif

/// A storey of `Sources`: a folder with a folder for each target.
func storey(_ folder: String, _ targets: [Target]) -> [Target] {
  for target in targets { target.path = "Sources/\(folder)/\(target.name)" }
  return targets
}

/// All storeys, from the ground up: a target imports what is in a lower storey, or beside it in its own.
/// docs/architecture.md has the picture, which scripts/storeys draws.
let storeys: [[Target]] = [
  storey(
    "c",
    [
      // C libraries and shims. Each library has one Swift fence that alone imports it; CONTRIBUTING.md names the exceptions.
      .target(name: "CLinux"),
      .target(name: "CReadWatch"),
      .target(name: "CWebAssets"),
      .target(name: "CLookAlikes"),
      .target(name: "CCurl"),
      .systemLibrary(name: "CPrefetch"),
      .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
      .systemLibrary(name: "CSRTP", pkgConfig: "libsrtp2", providers: [.apt(["libsrtp2-dev"])]),
      .systemLibrary(
        name: "CWebSockets", pkgConfig: "libwebsockets",
        providers: [.apt(["libwebsockets-dev", "libwebsockets-evlib-ev", "libev-dev"])]),
      .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
      .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
      .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
    ] + ipsecMBLibrary),
  storey(
    "base",
    [
      module("Basics", ["CPrefetch"], safe),
      // Below all that waits: threads, mailboxes, clocks. RoostClient has it on Linux, so it is not "hot".
      module("Threads", ["Basics", "CLinux"]),
      hot("Crypto", ["Basics", "COpenSSL"]),
      module("Logging", ["Basics"]),
      module("Compression", ["CZlib"]),
    ]),
  storey(
    "wire",
    [
      module("STUN", ["Basics"]),
      hot("RTP", ["Basics"]),
      module("SDP", ["Basics"]),
      module("RoostProtocol"),
    ]),
  storey(
    "machines",
    [
      module("ICE", ["Basics", "STUN", "Crypto"]),
      module("DTLS", ["Basics", "Crypto"]),
      hot("SRTPLibrary", ["Basics", "CSRTP"]),
      hot("IPSecMB", ["Basics", "Crypto"] + ipsecMB),
      hot("SRTP", ["Basics", "Crypto", "IPSecMB", "SRTPLibrary"]),
      hot("Congestion", ["Basics", "RTP"]),
      hot("Forwarding", ["Basics", "RTP", "Congestion"], safe),
    ]),
  storey(
    "rules",
    [
      // Which names are let in. Of the server alone: it asks Swift's own tables, by no public interface.
      module("Names", ["CLookAlikes", "RoostProtocol"]),
      module("Tokens", ["Basics", "Crypto", "Names", "RoostProtocol"]),
      module("Calls", ["Basics", "RoostProtocol"]),
      // What sessions, rooms and calls exchange, and what doors and the media side exchange with them: values.
      hot("Members", ["Basics", "Calls", "Names", "RoostProtocol"]),
      // Sessions, and what they say of themselves; they know nothing of rooms.
      module("Sessions", ["Basics", "Calls", "Members", "RoostProtocol"]),
      // Rooms, seats, tracks and who moderates; they know nothing of sessions but what comes with messages.
      module("Rooms", ["Basics", "Calls", "Members", "Names", "RoostProtocol"]),
      // Which node of a cluster decides about what. Of no rooms and no sockets: it knows names and numbers alone.
      module("Ownership", ["Basics", "Names"]),
      // Who routes between sessions, rooms and calls.
      module("Conference", ["Basics", "Names", "RoostProtocol", "Calls", "Members", "Rooms", "Sessions"]),
    ]),
  storey(
    "media",
    [
      hot("Media", ["Basics", "STUN", "RTP", "ICE", "DTLS", "SRTP", "Crypto", "Congestion", "Forwarding"]),
      hot("MediaWorker", ["Basics", "CLinux", "Crypto", "Forwarding", "Media", "Threads"]),
      module("Negotiation", ["Basics", "SDP", "RTP"]),
      // The media half of the conference: what is decided about seats becomes SDP and commands to workers, and the other way round.
      module(
        "MediaControl", ["Basics", "Members", "Crypto", "Media", "Negotiation", "RTP", "RoostProtocol"]),
    ]),
  storey(
    "doors",
    [
      module("WebSockets", ["Basics", "CWebSockets", "CReadWatch", "Threads"]),
      module(
        "DoorKit",
        ["Basics", "RoostProtocol", "Members", "Names", "Tokens", "Logging", "Threads", "WebSockets"]),
      module(
        "NativeDoor",
        ["Basics", "Names", "RoostProtocol", "Members", "DoorKit", "WebSockets", "Logging", "Threads"]),
      module(
        "Whip",
        [
          "Basics", "Members", "Crypto", "DoorKit", "Logging", "Names", "RoostProtocol", "SDP", "Threads",
          "WebSockets",
        ]),
      module(
        "Flashphoner",
        [
          "Basics", "Members", "Crypto", "DoorKit", "Logging", "Names", "RoostProtocol", "SDP", "Threads",
          "WebSockets",
        ]),
      module(
        "Admin",
        ["Basics", "Calls", "DoorKit", "Names", "RoostProtocol", "Members", "WebSockets", "Logging"]),
      module("API", ["Basics", "Crypto", "Members", "Names", "RoostProtocol", "Threads", "WebSockets"]),
    ]),
  storey(
    "outside",
    [
      module("Storage", ["Basics", "Names", "RoostProtocol", "Calls", "Members", "CSQLite"]),
      module("Webhooks", ["Basics", "Crypto", "CCurl"]),
      // What nodes of a cluster share.
      module("ClusterStore", ["Ownership"]),
    ]),
  storey(
    "clients",
    [
      .target(
        name: "WebClient", dependencies: ["CWebAssets", "Compression"], exclude: ["Assets"], swiftSettings: strict),
      module(
        "RoostClient",
        ["Basics", "RoostProtocol", .target(name: "WebSockets", condition: .when(platforms: [.linux]))]),
      module("RoostAdmin", ["Basics", "RoostProtocol"]),
    ]),
  storey(
    "shell",
    [
      module("Configuration", ["Basics", "Crypto", "Names", "RoostProtocol", "Tokens", "CYAML"]),
      module(
        "Server",
        [
          "Basics", "RoostProtocol", "Calls", "Conference", "Members", "Names", "Storage", "Webhooks", "Configuration",
          "WebSockets",
          "Logging", "DoorKit", "NativeDoor", "Whip", "Flashphoner", "Admin", "API", "WebClient", "Negotiation", "RTP",
          "Crypto", "Media",
          "MediaControl",
          "MediaWorker", "CLinux", "Forwarding", "SRTP", "Threads",
        ]),
      .executableTarget(
        name: "roost",
        dependencies: [
          "Basics", "Configuration", "Logging", "Names", "RoostProtocol", "Server", "Storage", "Tokens", "Webhooks",
          "MediaWorker", "CLinux", "Crypto", "SRTP", "Threads",
        ],
        swiftSettings: strict),
    ]),
]

let package = Package(
  name: "roost",
  // For RoostClient in apps, and RoostAdmin in tools, which build what they need and nothing else. The server is for Linux, and uses
  // what is newer.
  // Tests/RoostClientTests/FloorTests.swift holds the floor.
  platforms: [.macOS(.v13), .iOS(.v16)],
  products: [
    .executable(name: "roost", targets: ["roost"]),
    .library(name: "RoostClient", targets: ["RoostClient"]),
    .library(name: "RoostAdmin", targets: ["RoostAdmin"]),
  ],
  targets: storeys.flatMap { $0 } + [
    module(
      "SyntheticParticipant",
      [
        "Basics", "STUN", "RTP", "SDP", "Crypto", "ICE", "DTLS", "SRTP", "SRTPLibrary", "Congestion", "CLinux",
        "RoostProtocol", "RoostClient", "Threads", "NetworkEmulator",
      ],
      path: "loadtest/SyntheticParticipant"),
    // What an app on a phone adds to RoostClient, against a protocol for its media engine. A package of its own, too: Samples/Phone.
    module("PhoneSample", ["RoostClient", "RoostProtocol"], path: "Samples/Phone/Sources"),
    // The load test's participants in rooms of a Janus gateway, to compare.
    module("Janus", ["RoostProtocol", "RoostClient", "Threads"], path: "loadtest/Janus"),
    // Codecs, for the load test alone: the server never decodes anything.
    .systemLibrary(name: "COpus", path: "loadtest/COpus", pkgConfig: "opus", providers: [.apt(["libopus-dev"])]),
    .systemLibrary(name: "CVPX", path: "loadtest/CVPX", pkgConfig: "vpx", providers: [.apt(["libvpx-dev"])]),
    module("OpusCodec", ["COpus"], path: "loadtest/OpusCodec"),
    module("VP8Codec", ["CVPX"], path: "loadtest/VP8Codec"),
    module("RealMedia", ["OpusCodec", "VP8Codec", "SyntheticParticipant"], path: "loadtest/RealMedia"),
    // Devices by the thousand that are connected and wait, with a TLS client of their own.
    module("TLSClient", ["COpenSSL"], path: "loadtest/TLSClient"),
    module(
      "Devices", ["Basics", "CLinux", "SyntheticParticipant", "TLSClient", "Threads"], path: "loadtest/Devices"),
    module(
      "LoadGenerator",
      [
        "Basics", "CLinux", "Configuration", "SRTP", "RoostProtocol", "RoostClient", "SyntheticParticipant",
        "RealMedia", "WebSockets", "Janus", "Threads", "Devices", "TLSClient", "Tokens",
      ],
      path: "loadtest/LoadGenerator"),
    .executableTarget(
      name: "loadtest", dependencies: ["LoadGenerator"], path: "loadtest/command", swiftSettings: strict),
    // What SRTP costs; docs/decisions/0004-srtp-backends.md. Basics rounds, which needs libm where nothing else links it.
    .executableTarget(
      name: "srtp-bench", dependencies: ["Basics", "SRTP"], path: "loadtest/srtp-bench", swiftSettings: strict,
      linkerSettings: [.linkedLibrary("m")]),
    // What forwarding costs without the kernel; docs/performance.md.
    .executableTarget(
      name: "forward-bench",
      dependencies: [
        "Basics", "CLinux", "Congestion", "Crypto", "DTLS", "Forwarding", "ICE", "Media", "RTP", "SRTP", "Threads",
      ],
      path: "loadtest/forward-bench", swiftSettings: strict, linkerSettings: [.linkedLibrary("m")]),
    // What the rules cost without sockets and media; docs/performance.md.
    .executableTarget(
      name: "rules-bench", dependencies: ["Basics", "Calls", "Conference", "Members", "RoostProtocol"],
      path: "loadtest/rules-bench", swiftSettings: strict, linkerSettings: [.linkedLibrary("m")]),
    // Networks in virtual time, and what the bandwidth estimator does on them; docs/congestion.md.
    module("NetworkEmulator", ["Basics"], path: "loadtest/NetworkEmulator"),
    module(
      "NetworkScenarios", ["Basics", "RTP", "Congestion", "NetworkEmulator"], path: "loadtest/NetworkScenarios"),
    .executableTarget(
      name: "networks", dependencies: ["Basics", "RTP", "Congestion", "NetworkScenarios"], path: "loadtest/networks",
      swiftSettings: strict, linkerSettings: [.linkedLibrary("m")]),
    // Nodes of a cluster and their store in virtual time, and all that fails there; docs/decisions/0029-ownership.md.
    module(
      "ClusterSimulator", ["Basics", "Names", "Ownership", "ClusterStore"], path: "loadtest/ClusterSimulator"),
    // The bars of a cluster; docs/decisions/0029-ownership.md.
    .executableTarget(
      name: "cluster", dependencies: ["Basics", "ClusterSimulator"], path: "loadtest/cluster", swiftSettings: strict,
      linkerSettings: [.linkedLibrary("m")]),
    // Readers of outside bytes, for the fuzzer and for the replay of its corpora.
    module(
      "FuzzTargets",
      [
        "Basics", "STUN", "RTP", "SDP", "Crypto", "ICE", "DTLS", "SRTP", "Negotiation", "RoostProtocol",
        "Configuration", "Names", "Tokens", "WebSockets", "Whip", "Flashphoner", "Media", "Forwarding", "Conference",
        "Members",
        "Admin", "Storage", "Webhooks", "DoorKit", "NativeDoor", "Logging", "TestSupport", "Threads",
      ],
      path: "Fuzz/Targets"),

    // Tests.
    .target(name: "CAllocationCounter", path: "Tests/CAllocationCounter"),
    module("TestSupport", ["Basics"], path: "Tests/TestSupport"),
    module("MediaPeer", ["Basics", "Media", "RTP", "SDP", "TestSupport"], path: "Tests/MediaPeer"),
    tests("BasicsTests", ["Basics"]),
    tests("CLinuxTests", ["CLinux", "Basics", "TestSupport"]),
    tests("ThreadsTests", ["Threads", "Basics", "TestSupport"]),
    tests("STUNTests", ["STUN", "Crypto", "Basics", "TestSupport"]),
    tests("RTPTests", ["RTP", "Basics", "TestSupport"]),
    tests("SDPTests", ["SDP", "Basics", "TestSupport"]),
    tests("CryptoTests", ["Crypto", "Basics", "CAllocationCounter", "COpenSSL", "TestSupport"]),
    tests("ICETests", ["ICE", "STUN", "Crypto", "Basics"]),
    tests("DTLSTests", ["DTLS", "Crypto", "Basics", "TestSupport"]),
    tests("SRTPTests", ["SRTP", "SRTPLibrary", "IPSecMB", "Crypto", "Basics", "CAllocationCounter", "TestSupport"]),
    tests(
      "CongestionTests",
      ["Congestion", "RTP", "Basics", "NetworkEmulator", "NetworkScenarios", "CAllocationCounter"]),
    tests("ForwardingTests", ["Forwarding", "RTP", "Basics"]),
    tests(
      "MediaTests",
      [
        "Media", "ICE", "DTLS", "SRTP", "SRTPLibrary", "STUN", "RTP", "Crypto", "Basics", "Forwarding", "Congestion",
        "CAllocationCounter",
      ]),
    tests(
      "MediaWorkerTests",
      [
        "MediaWorker", "Media", "Forwarding", "ICE", "RTP", "Crypto", "Basics", "CLinux", "CAllocationCounter",
        "Threads",
      ]),
    tests("NegotiationTests", ["Negotiation", "SDP", "RTP", "Basics", "TestSupport"]),
    tests("ProtocolTests", ["RoostProtocol", "CAllocationCounter"]),
    tests("NamesTests", ["Names", "Basics", "RoostProtocol"]),
    tests("TokensTests", ["Tokens", "Basics", "Names", "RoostProtocol"]),
    tests("OwnershipTests", ["Ownership", "ClusterSimulator", "ClusterStore", "Basics", "Names"]),
    tests("ClusterStoreTests", ["ClusterStore", "Ownership", "Names"]),
    tests("CallsTests", ["Calls", "RoostProtocol", "Basics"]),
    tests(
      "ConferenceTests", ["Conference", "Members", "Names", "Rooms", "Sessions", "Calls", "RoostProtocol", "Basics"]),
    module("TinyHTTP", ["Basics", "TestSupport"], path: "Tests/TinyHTTP"),
    tests("WebhooksTests", ["Webhooks", "Basics", "TestSupport", "TinyHTTP"]),
    tests(
      "StorageTests",
      ["Storage", "Calls", "Conference", "Members", "Names", "RoostProtocol", "Basics", "TestSupport"]),
    tests("ConfigurationTests", ["Configuration", "Basics", "Names", "TestSupport", "Tokens"]),
    tests(
      "RoostCommandTests",
      [
        "roost", "Calls", "Configuration", "Basics", "CLinux", "Crypto", "RoostClient", "RoostProtocol", "SRTP",
        "Storage",
        "Tokens", "SyntheticParticipant", "TestSupport", "TinyHTTP", "Webhooks",
      ],
      exclude: ["TLS"]),
    tests("WebSocketsTests", ["WebSockets", "Basics", "TestSupport", "TLSClient"]),
    tests("LoggingTests", ["Logging", "Basics"]),
    tests(
      "DoorKitTests",
      [
        "DoorKit", "RoostProtocol", "Members", "Sessions", "Basics", "Logging", "TestSupport", "Threads",
        "Tokens",
        "WebSockets",
      ]),
    tests(
      "NativeDoorTests",
      [
        "NativeDoor", "DoorKit", "RoostProtocol", "Members", "Basics", "WebSockets", "Logging",
        "TestSupport",
        "Threads", "Tokens",
      ]),
    tests(
      "WhipTests",
      [
        "Whip", "Basics", "Members", "Logging", "RoostProtocol", "SDP", "DoorKit", "WebSockets",
        "TestSupport",
      ]),
    tests(
      "FlashphonerTests",
      [
        "Flashphoner", "Basics", "Members", "Names", "RoostProtocol", "DoorKit", "CAllocationCounter",
        "TestSupport",
      ]),
    tests("CompressionTests", ["Compression"]),
    tests("WebClientTests", ["WebClient", "RoostProtocol"]),
    tests("APITests", ["API", "Basics", "Members", "Names", "RoostProtocol", "WebSockets"]),
    tests(
      "AdminTests", ["Admin", "DoorKit", "Basics", "Calls", "Members", "RoostProtocol", "WebSockets"]),
    tests("RoostClientTests", ["RoostClient", "RoostProtocol", "WebSockets", "Basics", "TestSupport"]),
    tests("RoostAdminTests", ["RoostAdmin", "RoostProtocol", "Basics", "TestSupport", "TinyHTTP"]),
    tests("FuzzTests", ["FuzzTargets", "Members", "Basics", "RoostProtocol"]),
    tests(
      "ServerTests",
      [
        "Server", "Configuration", "Members", "MediaControl", "MediaPeer", "Negotiation", "RoostProtocol",
        "Media",
        "Basics", "Calls", "Logging", "Names", "DoorKit", "NativeDoor", "SDP", "Storage", "TestSupport", "Threads",
        "TinyHTTP", "WebSockets", "Webhooks",
      ]),
    tests(
      "MediaControlTests",
      [
        "MediaControl", "MediaPeer", "Basics", "Crypto", "Members", "Media", "Negotiation", "RTP", "RoostProtocol",
        "SDP",
        "TestSupport",
      ]),
    tests(
      "SyntheticParticipantTests",
      [
        "SyntheticParticipant", "RTP", "SDP", "RoostProtocol", "Crypto", "ICE", "CLinux", "Basics", "TestSupport",
        "Threads",
      ]),
    tests("RealMediaTests", ["RealMedia", "OpusCodec", "VP8Codec", "SyntheticParticipant"]),
    tests(
      "LoadGeneratorTests",
      [
        "LoadGenerator", "RTP", "Devices", "TLSClient", "Crypto", "SyntheticParticipant", "Configuration",
        "RoostProtocol",
        "Basics", "CLinux", "TestSupport", "Threads",
      ]),
    tests(
      "DocumentTests",
      [
        "Server", "Configuration", "Basics", "Calls", "Logging", "WebSockets", "RoostProtocol", "DoorKit",
        "Negotiation", "SDP", "RTP", "TestSupport",
      ]),
    tests(
      "EndToEndTests",
      [
        "Webhooks", "Members", "TinyHTTP", "Server", "Configuration", "RoostAdmin", "RoostClient",
        "SyntheticParticipant", "RoostProtocol",
        "Logging", "Basics", "RealMedia",
        "CLinux", "Crypto", "SDP", "PhoneSample", "Threads",
        "STUN", "RTP", "ICE", "SRTP", "TestSupport", "Tokens", "Names", "WebClient",
      ]),
  ]
)

// `make fuzz` sets this: libFuzzer's runtime is linked, and the whole package is built instrumented.
if Context.environment["ROOST_FUZZ"] != nil {
  package.targets += [
    .target(name: "CFuzzer", path: "Fuzz/CFuzzer"),
    .executableTarget(
      name: "fuzz", dependencies: ["FuzzTargets", "CFuzzer"], path: "Fuzz/Driver", swiftSettings: strict,
      linkerSettings: [.linkedLibrary("stdc++")]),
  ]
}

// Targets that ROOST_PART names, and what they depend on; the rest of the package is as if it were not there. The build folder is the
// same, so nothing is compiled anew for another part.
if let part = Context.environment["ROOST_PART"], !part.isEmpty {
  let targets = Dictionary(uniqueKeysWithValues: package.targets.map { ($0.name, $0) })
  var needed: Set<String> = []
  var next = part.split(separator: ",").map(String.init)
  while let name = next.popLast() {
    guard let target = targets[name] else { fatalError("ROOST_PART: no target is named \(name)") }
    guard needed.insert(name).inserted else { continue }
    for dependency in target.dependencies {
      switch dependency {
      case .targetItem(let name, _), .byNameItem(let name, _): next.append(name)
      default: break
      }
    }
  }
  package.targets.removeAll { !needed.contains($0.name) }
  package.products.removeAll { product in
    let names = (product as? Product.Library)?.targets ?? (product as? Product.Executable)?.targets ?? []
    return !names.allSatisfy(needed.contains)
  }
}
