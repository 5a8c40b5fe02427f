// Why a text is not a session description.

/// Where and why parsing stopped.
public struct SDPError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What was wrong.
  public enum Reason: Equatable, Sendable {
    /// More than `SDPLimits.bytes`.
    case tooLarge
    /// More than `SDPLimits.mediaSections`.
    case tooManyMediaSections
    /// More than `SDPLimits.linesPerSection` or `SDPLimits.sourcesPerSection` in one section.
    case tooManyAttributes
    /// More than `SDPLimits.bytesPerLine`.
    case lineTooLong
    /// Not of the form `<letter>=<value>`.
    case notALine
    /// NUL, a lone CR, or not UTF-8.
    case illegalByte
    /// The first line is not `v=0`.
    case missingVersion
    /// The second line is not an origin.
    case missingOrigin
    /// A line (`m=`) or attribute (`a=rtpmap`) that does not follow its grammar.
    case malformed(String)
    /// Something that may stand only once.
    case duplicate(String)
  }

  /// Number of the offending line, from 1; 0 when the text as a whole is at fault.
  public var line: Int
  /// What was wrong.
  public var reason: Reason

  /// An error at a line.
  public init(line: Int, reason: Reason) {
    self.line = line
    self.reason = reason
  }

  /// Such as `line 12: malformed a=rtpmap`.
  public var description: String {
    line > 0 ? "line \(line): \(reason.text)" : reason.text
  }
}

extension SDPError.Reason {
  var text: String {
    switch self {
    case .tooLarge: "larger than \(SDPLimits.bytes) bytes"
    case .tooManyMediaSections: "more than \(SDPLimits.mediaSections) media lines"
    case .tooManyAttributes: "too many attributes in one section"
    case .lineTooLong: "longer than \(SDPLimits.bytesPerLine) bytes"
    case .notALine: "not of the form <letter>=<value>"
    case .illegalByte: "contains NUL, a lone CR or bytes that are not UTF-8"
    case .missingVersion: "the first line must be v=0"
    case .missingOrigin: "the second line must be an origin (o=)"
    case .malformed(let what): "malformed \(what)"
    case .duplicate(let what): "a second \(what)"
    }
  }
}

/// Bounds of what the parser takes. An answer of a browser to a hundred lines has more than two thirds of the bytes; of the others
/// browsers stay below a tenth.
public enum SDPLimits {
  /// Of a whole description.
  public static let bytes = 384 * 1024
  /// `m=` lines, those that ended long ago among them; raising it raises the lines that a hostile client can make a seat hold.
  public static let mediaSections = 256
  /// Lines in the session part or in one media section.
  public static let linesPerSection = 1024
  /// Distinct SSRCs in one media section; look-ups among them are linear.
  public static let sourcesPerSection = 128
  /// Lines that are told of when they were passed over; an offer may have hundreds, and its answer is one message.
  public static let passedOver = 32
  /// Of one line without its ending.
  public static let bytesPerLine = 8192
}
