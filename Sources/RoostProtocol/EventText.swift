// An event as it goes out to many: encoded once, with each session's number put in (docs/protocol.md, envelope).

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The text frame of an event but for its `seq`. Whoever hears the event gets the same bytes around another number.
///
///     let text = try EventText(event, serverTime: now)
///     for receiver in receivers { send(text.frame(seq: receiver.seq), to: receiver) }
public struct EventText: Sendable {
  private let head: [UInt8]
  private let tail: [UInt8]

  /// Encodes the event's own fields; what `ServerFrame.event` gives for any number is made of this.
  public init(_ event: Event, serverTime: Int64) throws {
    let params = try Wire.encoder.encode(OwnFields(event: event))
    head = Array(#"{"jsonrpc":"2.0","method":"\#(event.name.rawValue)","params":{"seq":"#.utf8)
    // An object is at least `{}`; the fields stand between the braces.
    let fields = params.dropFirst().dropLast()
    tail = Array(#","serverTime":\#(serverTime)\#(fields.isEmpty ? "" : ",")"#.utf8) + fields + Array("}}".utf8)
  }

  /// The frame for the session whose `seq`-th event this is.
  public func frame(seq: Int) -> [UInt8] {
    let digits = String(seq).utf8
    var frame: [UInt8] = []
    frame.reserveCapacity(head.count + digits.count + tail.count)
    frame += head
    frame += digits
    frame += tail
    return frame
  }

  private struct OwnFields: Encodable {
    var event: Event
    private enum NoKey: CodingKey {}

    func encode(to encoder: any Encoder) throws {
      _ = encoder.container(keyedBy: NoKey.self)
      try event.encodeParams(to: encoder)
    }
  }
}
