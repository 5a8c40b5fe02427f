// A scenario is a list of described steps on a stage; each step does something and says what must hold after it.

import Basics
import Media
import RTP
import Testing

/// People, tracks and subscriptions by name: "anna", "anna.video", and `stream("bert", "anna.video")`.
final class Stage {
  let call: Call
  private(set) var people: [String: VirtualPeer] = [:]
  private(set) var tracks: [String: ProducerKey] = [:]
  private(set) var consumers: [String: ConsumerKey] = [:]
  /// What a step wants to remember for a later one.
  var notes: [String: Int] = [:]
  var marks: [String: Instant] = [:]

  init(seed: UInt64) throws { call = try Call(seed: seed) }

  func join(_ name: String, remote: Call.Remote = .known) throws {
    people[name] = try call.join(name, remote: remote)
  }

  func person(_ name: String) throws -> VirtualPeer { try #require(people[name], "nobody called \(name)") }

  func publish(
    _ name: String, _ kind: MediaKind, codec: CodecProfile = .vp8, layers: [Int] = [2], nack: Bool = true,
    declared: Bool = true
  ) throws {
    tracks["\(name).\(kind)"] = call.publish(
      try person(name), kind, codec: codec, layers: layers, nack: nack, declared: declared)
  }

  /// `newcomer` joins and subscribes to anna's video while nothing reaches her, for so long; then the way to her is there again.
  func comes(_ newcomer: String, whileAnnaIsDeafFor time: TimeDelta) throws {
    try person("anna").downlink.isCut = true
    try join(newcomer)
    try subscribe(newcomer, "anna.video")
    call.run(time)
    try person("anna").downlink.isCut = false
  }

  func track(_ name: String) throws -> ProducerKey { try #require(tracks[name], "no track called \(name)") }

  func subscribe(
    _ name: String, _ track: String, codecs: [CodecProfile]? = nil, paused: Bool = false, layer: Int? = nil
  ) throws {
    consumers["\(name) \(track)"] = call.subscribe(
      try person(name), to: try self.track(track), codecs: codecs, paused: paused, layer: layer)
  }

  func consumer(_ name: String, _ track: String) throws -> ConsumerKey {
    try #require(consumers["\(name) \(track)"], "\(name) does not subscribe to \(track)")
  }

  func stream(_ name: String, _ track: String) throws -> ReceivedStream {
    try #require(call.stream(try consumer(name, track)))
  }

  func layer(_ track: String, _ index: Int = 0) throws -> SendLayer { call.layers(try self.track(track))[index] }

  func change(_ track: String, _ body: (inout PublishedTrack) -> Void) throws {
    call.track(try self.track(track), body)
  }

  /// Everybody's streams are clean, or those of one track.
  func expectCleanStreams(_ track: String = "", _ location: SourceLocation = #_sourceLocation) {
    for (name, key) in consumers where name.hasSuffix(track) {
      let problems = call.stream(key)?.problems ?? []
      #expect(problems == [], "\(name)", sourceLocation: location)
    }
  }
}

/// One step: what it is, and what is done and looked at.
struct Step: Sendable {
  let what: String
  let body: @Sendable (Stage) throws -> Void

  init(_ what: String, _ body: @escaping @Sendable (Stage) throws -> Void) { (self.what, self.body) = (what, body) }

  /// Lets time pass.
  static func wait(_ milliseconds: Int) -> Step {
    Step("wait \(milliseconds) ms") { $0.call.run(.milliseconds(milliseconds)) }
  }
}

/// A described list of steps.
struct Scenario: Sendable, CustomTestStringConvertible {
  let name: String
  let steps: [Step]

  init(_ name: String, _ steps: Step...) { (self.name, self.steps) = (name, steps) }

  var testDescription: String { name }

  func play(seed: UInt64 = 7) throws {
    let stage = try Stage(seed: seed)
    for step in steps {
      do { try step.body(stage) } catch {
        Issue.record("\(name): step “\(step.what)” threw \(error)")
        throw error
      }
    }
    #expect(stage.call.sink.violations == 0)
    for peer in stage.people.values {
      #expect(peer.unopened == 0, "\(peer.name) could not open something")
      #expect(peer.unknownSSRCs.isEmpty, "\(peer.name) got a stream that nobody told of")
    }
  }
}
