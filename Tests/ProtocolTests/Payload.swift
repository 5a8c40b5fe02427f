// What an event or a reply carries, to be encoded by its own `encode(to:)`: the other way to the text that its field writer makes.

import RoostProtocol

/// The payload of a case, without the case; of a case without one nothing, which is an empty object.
struct Payload: Encodable {
  private let value: (any Encodable)?

  init(_ event: Event) { value = Self.payload(of: event) }
  init(_ reply: Reply) { value = Self.payload(of: reply) }

  private static func payload(of message: Any) -> (any Encodable)? {
    Mirror(reflecting: message).children.first?.value as? any Encodable
  }

  private enum NoKey: CodingKey {}

  func encode(to encoder: any Encoder) throws {
    if let value { try value.encode(to: encoder) } else { _ = encoder.container(keyedBy: NoKey.self) }
  }
}
