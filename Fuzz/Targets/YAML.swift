// rooms.yaml: any bytes are a valid configuration or a list of complaints with their places.
import Configuration

@Sendable func readConfiguration(_ input: Span<UInt8>) {
  do {
    let configuration = try ServerConfiguration.parse(input.bytes(), file: "rooms.yaml")
    precondition(configuration.kinds["group"] != nil, "the built-in kinds are always there")
    for room in configuration.rooms.values {
      precondition(configuration.kinds[room.kind] != nil, "a room's kind exists")
    }
    if case .create(let kind) = configuration.unknownRooms { precondition(configuration.kinds[kind] != nil) }
  } catch {
    precondition(!error.issues.isEmpty, "a refusal has a reason")
    for issue in error.issues {
      precondition(issue.line >= 1 && issue.column >= 1, "a complaint has a place")
      precondition(issue.description.utf8.count < 2000, "a complaint is readable")
    }
  }
}

extension Span<UInt8> {
  /// A copy, for readers that take arrays.
  func bytes() -> [UInt8] {
    var copy: [UInt8] = []
    copy.reserveCapacity(count)
    for index in indices { copy.append(self[index]) }
    return copy
  }
}
