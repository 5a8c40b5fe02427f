// Bounds on what a client may say, and the checks that hold it to them. Raising one raises what a session can make the
// server keep.

/// Bounds of the protocol, in bytes of UTF-8 unless they say otherwise.
public enum ProtocolLimits {
  /// One text frame from a client: an answer of `answerBytes` fits.
  public static let messageBytes = 512 << 10
  /// The same before it has a session: a hello or a resume. Raising it makes connections of strangers dearer.
  public static let strangersMessageBytes = 64 << 10
  /// Levels of arrays and objects in one frame from a client. Raising it makes hostile frames dearer to decode.
  public static let messageDepth = 16
  /// Values and keys in one frame from a client. Decoding one costs up to ten microseconds.
  public static let messageValues = 1024
  /// A key of an object in a frame from a client, as it is written. Raising it makes hostile frames dearer to decode, with its square.
  public static let keyBytes = 256
  /// Levels of arrays and objects in one frame from a server.
  public static let serverMessageDepth = 64
  /// A request id that is a string.
  public static let requestIdBytes = 128
  /// `user`, `deviceId`, `displayName`, room names, labels, `clientMsgId`, `clientCallId`.
  public static let nameBytes = 128
  /// `token` and `resumeToken`.
  public static let tokenBytes = 4096
  /// Opaque JSON: `metadata`, `capabilities`, `split`, `extra`, `push`.
  public static let opaqueBytes = 4096
  /// A chat message, or the text of a reject or hang-up; the server may be configured for less.
  public static let textBytes = 8 << 10
  /// `topic` of a custom message.
  public static let topicBytes = 64
  /// `data` of a custom message.
  public static let dataBytes = 8 << 10
  /// Milliseconds that the answer to a `message.request` may take.
  public static let answerMilliseconds = 60_000
  /// An offer.
  public static let sdpBytes = 128 << 10
  /// An answer. Chromium 148 takes 2.7 KB for each line that may carry every codec, and there are 100 lines.
  public static let answerBytes = 384 << 10
  /// Media lines announced in one offer.
  public static let announcedTracks = 32
  /// Views of one seat. Raise it and a seat takes as many media lines, of which there are 100.
  public static let views = 49
  /// Users in one list: `to`, `users`.
  public static let users = 400
  /// Users in one `user.query`.
  public static let queriedUsers = 100
  /// Devices of one user whose `capabilities` are in a reply of `user.query`. Raising it makes that of somebody with many devices longer.
  public static let capabilities = 16
  /// Bytes of all `capabilities` in one reply of `user.query`.
  public static let capabilitiesBytes = 128 << 10
  /// Bytes of the names in `to` of a message, together. Each of the others gets them all.
  public static let recipientBytes = 16 << 10
  /// Entries of one page of history, and of the list of rooms.
  public static let page = 100
  /// Bytes of the messages in one answer, texts and names together: however they are escaped in JSON, six times as much is less
  /// than what a connection's queue holds unless it is configured otherwise (1 MiB).
  public static let historyBytes = 131_072
  /// Entries of a page when the client does not say.
  public static let defaultPage = 50
  /// `view`, `viewIndex` and `priority` go from 0 to this.
  public static let smallNumber = 255
  /// Lines of a picture: `heights` and `maxHeight`.
  public static let pictureLines = 16_384
  /// Room names that start so belong to calls.
  public static let callRoomPrefix = "call:"
}

/// Checks of one request's parameters: bounds throw 1010, everything else −32602.
enum Check {
  /// A name that people or programs are known by: 1 to `max` bytes that print, without blank at either end.
  static func name(_ text: String?, _ field: String, max: Int = ProtocolLimits.nameBytes) throws(ErrorObject) {
    guard let text else { return }
    try size(text.utf8.count, max, field)
    guard ProtocolLimits.isName(text) else {
      throw .parameter(field, expected: "1 to \(max) printable bytes without blanks at the ends")
    }
  }

  /// Text of any characters but NUL, at least one byte.
  static func text(_ text: String?, _ field: String, max: Int = ProtocolLimits.textBytes) throws(ErrorObject) {
    guard let text else { return }
    try size(text.utf8.count, max, field)
    guard !text.utf8.isEmpty, !text.utf8.contains(0) else { throw .parameter(field, expected: "a text") }
  }

  /// A reason that clients may give.
  static func said(_ reason: Reason?) throws(ErrorObject) {
    guard let reason, !Reason.said.contains(reason) else { return }
    throw .parameter("reason", expected: Reason.said.map(\.rawValue).joined(separator: ", "))
  }

  /// Opaque JSON.
  static func opaque(_ value: JSONValue?, _ field: String) throws(ErrorObject) {
    try size(value?.encodedSize ?? 0, ProtocolLimits.opaqueBytes, field)
  }

  /// The same of what is kept as it came, with its blanks.
  static func opaque(
    _ value: RawJSON?, _ field: String, max: Int = ProtocolLimits.opaqueBytes
  ) throws(ErrorObject) {
    try size(value?.encodedSize ?? 0, max, field)
  }

  /// The same of what others are shown: readers that are strict must be able to read a message with it.
  static func shownOpaque(
    _ value: RawJSON?, _ field: String, max: Int = ProtocolLimits.opaqueBytes
  ) throws(ErrorObject) {
    try opaque(value, field, max: max)
    if value?.isReadable == false {
      throw .parameter(field, expected: "JSON with numbers in range and whole surrogate pairs")
    }
  }

  /// A number from a range.
  static func range<N: BinaryInteger>(_ number: N?, _ bounds: ClosedRange<N>, _ field: String) throws(ErrorObject) {
    guard let number, !bounds.contains(number) else { return }
    throw .parameter(field, expected: "a number from \(bounds.lowerBound) to \(bounds.upperBound)")
  }

  /// A list of users.
  static func users(
    _ users: [String]?, _ field: String, max: Int = ProtocolLimits.users, min: Int = 1
  ) throws(ErrorObject) {
    guard let users else { return }
    try size(users.count, max, field)
    guard users.count >= min else { throw .parameter(field, expected: "at least one user") }
    for (index, user) in users.enumerated() { try name(user, "\(field)[\(index)]") }
  }

  /// An id that the server made.
  static func identifier(_ id: String?, _ field: String) throws(ErrorObject) {
    guard let id else { return }
    try size(id.utf8.count, ProtocolLimits.nameBytes, field)
    if id.isEmpty { throw .parameter(field, expected: "an id") }
  }

  /// A bound on a count.
  static func size(_ count: Int, _ limit: Int, _ field: String) throws(ErrorObject) {
    if count > limit { throw .tooLarge(field, limit: limit, count: count) }
  }
}

extension ProtocolLimits {
  /// Whether people or programs may be known by it: 1 to `nameBytes` bytes that print, without blank at either end.
  public static func isName(_ text: String) -> Bool {
    guard let first = text.unicodeScalars.first, let last = text.unicodeScalars.last else { return false }
    return text.utf8.count <= nameBytes && !first.properties.isWhitespace && !last.properties.isWhitespace
      && text.unicodeScalars.allSatisfy(isPrintable) && text.unicodeScalars.contains(where: isVisible)
  }

  /// Whether people may be shown it as one line: 1 to `most` bytes that print.
  public static func isLine(_ text: String, most: Int) -> Bool {
    text.utf8.count <= most && text.unicodeScalars.allSatisfy(isPrintable)
      && text.unicodeScalars.contains(where: isVisible)
  }

  /// A name of joiners, fillers and empty patterns alone looks like none.
  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    !scalar.properties.isDefaultIgnorableCodePoint && !scalar.properties.isWhitespace && scalar.value != 0x2800
  }

  /// Neither a control character, nor a line break, nor one that turns the direction of what follows it.
  private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7f..<0xa0, 0x2028, 0x2029, 0x202a...0x202e, 0x2066...0x2069: false
    default: true
    }
  }
}
