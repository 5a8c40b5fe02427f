// docs/protocol.md against the types: every example goes through the codec and back, every message and field has one,
// and the tables say what the code says.

import Foundation
import Negotiation
import RTP
import RoostProtocol
import SDP
import DoorKit
import Testing

@Suite struct ProtocolDocumentTests {
  private let document = Document.shared

  private func examples(_ kind: String) -> [Document.Example] { document.examples.filter { $0.kind == kind } }

  // MARK: Examples

  @Test func marksAreKnown() {
    #expect(document.examples.count > 80)
    for example in document.examples {
      #expect(["request", "reply", "error", "event"].contains(example.kind), "\(example)")
    }
  }

  @Test func requestsAreWhatTheServerDecodes() throws {
    for example in examples("request") {
      let bytes = try document.bytes(example)
      guard case .request(let id, let request) = ClientFrame.decode(bytes) else {
        Issue.record("\(example) is refused: \(ClientFrame.decode(bytes))")
        continue
      }
      #expect(request.method.rawValue == example.name, "\(example)")
      #expect(try JSON.canonical(ClientFrame.encode(request, id: id)) == JSON.canonical(bytes), "\(example)")
    }
  }

  @Test func repliesAreWhatTheServerEncodes() throws {
    for example in examples("reply") {
      let method = try #require(Method(rawValue: example.name), "\(example)")
      let bytes = try document.bytes(example)
      let frame = try ServerFrame.decode(bytes) { _ in method }
      guard case .reply = frame else {
        Issue.record("\(example) is no reply")
        continue
      }
      #expect(try JSON.canonical(frame.encode()) == JSON.canonical(bytes), "\(example)")
    }
  }

  @Test func eventsAreWhatTheServerEncodes() throws {
    for example in examples("event") {
      let bytes = try document.bytes(example)
      let frame = try ServerFrame.decode(bytes) { _ in nil }
      guard case .event(let message) = frame else {
        Issue.record("\(example) is no event")
        continue
      }
      #expect(message.event.name.rawValue == example.name, "\(example)")
      #expect(try JSON.canonical(frame.encode()) == JSON.canonical(bytes), "\(example)")
    }
  }

  @Test func errorsAreWhatTheServerEncodes() throws {
    for example in examples("error") {
      let bytes = try document.bytes(example)
      let frame = try ServerFrame.decode(bytes) { _ in nil }
      guard case .failure(_, let error) = frame else {
        Issue.record("\(example) is no error")
        continue
      }
      #expect(error.data.name == error.code.name, "\(example)")
      #expect(try JSON.canonical(frame.encode()) == JSON.canonical(bytes), "\(example)")
    }
  }

  @Test func descriptionsAreSDP() throws {
    #expect(document.descriptions.count >= 8)
    for (name, text) in document.descriptions {
      #expect(throws: Never.self, "\(name)") { try SessionDescription.parse(text) }
    }
  }

  // MARK: Nothing is missing

  @Test func everyMessageHasAnExampleAndNoOtherHas() {
    let methods = Set(Method.allCases.map(\.rawValue))
    #expect(Set(examples("request").map(\.name)) == methods)
    #expect(Set(examples("reply").map(\.name)) == methods)
    #expect(Set(examples("event").map(\.name)) == Set(EventName.allCases.map(\.rawValue)))
  }

  @Test func everyFieldOfEveryMessageHasAnExample() throws {
    var fields = FieldCoverage()
    for example in examples("request") {
      if case .request(_, let request) = ClientFrame.decode(try document.bytes(example)) { fields.look(at: request) }
    }
    for example in examples("reply") + examples("event") {
      let method = Method(rawValue: example.name)
      switch try ServerFrame.decode(document.bytes(example), pending: { _ in method }) {
      case .reply(_, let reply): fields.look(at: reply)
      case .event(let message): fields.look(at: message.event)
      default: break
      }
    }
    // What belongs to tokens, or to layers that the server does not tell of yet, is in the text alone.
    let later: Set<String> = [
      "HelloParams.token", "Layer.spatial", "Layer.temporal", "Layer.width", "Layer.height",
    ]
    #expect(fields.neverSeen.filter { !$0.hasPrefix("ErrorData") } == later)
  }

  // MARK: Tables

  @Test func errorTableIsTheEnum() {
    let rows = document.numberedRows(under: "## Errors").map { $0.prefix(3).joined(separator: " ") }
    let codes = ErrorCode.allCases.map { "\($0.rawValue) \($0.name) \($0.isRetryable ? "yes" : "no")" }
    #expect(rows == codes)
  }

  @Test func reasonTableIsTheEnum() {
    var expected: [Int: [String]] = [:]
    for reason in Reason.allCases { expected[reason.code, default: []].append(reason.rawValue) }
    let rows = document.numberedRows(under: "## Reasons")
    #expect(rows.map { $0[0] } == expected.keys.sorted().map(String.init))
    for row in rows {
      #expect(row[1].components(separatedBy: ", ") == expected[Int(row[0]) ?? 0], "\(row)")
    }
  }

  @Test func weightTableIsTheCode() throws {
    var told: [String: Int] = [:]
    for row in document.rows(under: "## Weights").dropFirst() {
      let weight = try #require(Int(row[0]))
      for name in row[1].components(separatedBy: CharacterSet(charactersIn: "`, ")) where !name.isEmpty {
        let other = told.updateValue(weight, forKey: name)
        #expect(other == nil, "\(name) twice")
      }
    }
    #expect(Set(told.keys) == Set(Method.allCases.map(\.rawValue)))
    for example in examples("request") {
      guard case .request(_, let request) = ClientFrame.decode(try document.bytes(example)) else { continue }
      #expect(request.weight == told[example.name] && request.weight <= Request.mostWeight, "\(example)")
    }
  }

  @Test func limitTableIsTheCode() {
    let limits: [String: Int] = [
      "messageBytes": ProtocolLimits.messageBytes, "messageDepth": ProtocolLimits.messageDepth,
      "strangersMessageBytes": ProtocolLimits.strangersMessageBytes, "answerBytes": ProtocolLimits.answerBytes,
      "messageValues": ProtocolLimits.messageValues, "keyBytes": ProtocolLimits.keyBytes,
      "requestIdBytes": ProtocolLimits.requestIdBytes,
      "nameBytes": ProtocolLimits.nameBytes, "tokenBytes": ProtocolLimits.tokenBytes,
      "opaqueBytes": ProtocolLimits.opaqueBytes, "textBytes": ProtocolLimits.textBytes,
      "sdpBytes": ProtocolLimits.sdpBytes, "announcedTracks": ProtocolLimits.announcedTracks,
      "users": ProtocolLimits.users, "queriedUsers": ProtocolLimits.queriedUsers, "page": ProtocolLimits.page,
      "capabilities": ProtocolLimits.capabilities, "capabilitiesBytes": ProtocolLimits.capabilitiesBytes,
      "recipientBytes": ProtocolLimits.recipientBytes, "topicBytes": ProtocolLimits.topicBytes,
      "dataBytes": ProtocolLimits.dataBytes, "answerMilliseconds": ProtocolLimits.answerMilliseconds,
      "historyBytes": ProtocolLimits.historyBytes, "defaultPage": ProtocolLimits.defaultPage,
      "views": ProtocolLimits.views, "smallNumber": ProtocolLimits.smallNumber,
      "pictureLines": ProtocolLimits.pictureLines,
    ]
    let rows = document.rows(under: "## Limits").dropFirst()
    #expect(Dictionary(uniqueKeysWithValues: rows.map { ($0[0], Int($0[1]) ?? -1) }) == limits)
  }

  @Test func payloadTypeTableIsTheCode() {
    let rows = document.rows(under: "### Subscribing").filter { $0.count == 4 && Int($0[1]) != nil }
    let table = Set(rows.map { "\($0[1])/\($0[2])" })
    let code = CodecProfile.allCases.map { codec in
      "\(codec.serverPayloadType)/\(codec.serverRTXPayloadType.map(String.init) ?? "–")"
    }
    #expect(table == Set(code))
    #expect(rows.count == code.count)
  }
}

/// Which optional fields of message types have had a value.
private struct FieldCoverage {
  private var seen: Set<String> = []
  private var absent: Set<String> = []
  var neverSeen: Set<String> { absent.subtracting(seen) }

  mutating func look(at value: Any) {
    let mirror = Mirror(reflecting: value)
    if value is JSONValue || value is RawJSON { return }
    let type = String(describing: mirror.subjectType)
    for child in mirror.children {
      let inner = Mirror(reflecting: child.value)
      if mirror.displayStyle == .struct, inner.displayStyle == .optional, let label = child.label {
        if inner.children.isEmpty { absent.insert("\(type).\(label)") } else { seen.insert("\(type).\(label)") }
      }
      look(at: child.value)
    }
  }
}
