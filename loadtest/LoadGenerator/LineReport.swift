// What came over the lines of those who have one: rates, layers, freezes, loss, and what they believe of the line themselves.

import Basics
import SyntheticParticipant

extension Report {
  /// One participant behind a line.
  struct LineRow: Encodable, Sendable, Equatable {
    var user = ""
    /// The line in words.
    var line = ""
    var feedback = ""
    /// Toward the participant; nil without a bottleneck.
    @Nullable var rateKbps: Double?
    /// RTP payload that came in the window, repaired packets included.
    var audioKbps = 0.0
    var videoKbps = 0.0
    /// Subscriptions to video, and those of which anything came.
    var videos = 0
    var videosShown = 0
    /// Whole pictures a second and video that was shown.
    var framesPerSecond = 0.0
    /// How many videos ended on which layer, the lowest first.
    var layers: [Int] = [0, 0, 0]
    var freezes: UInt64 = 0
    /// The longest time without a packet of a video that was shown, in milliseconds.
    var longestGapMs = 0.0
    /// Of what the server sent, by sequence numbers, what never came.
    var lossRatio = 0.0
    var repaired: UInt64 = 0
    /// What the participant tells the server, where it does (REMB).
    @Nullable var estimateKbps: Double?
    /// What the server said last of the line's quality, and of what it carries (`room.quality`); nil where it saw no limit.
    @Nullable var serverSays: String?
    @Nullable var serverEstimateKbps: Double?
    private var lost: UInt64 = 0
    private var received: UInt64 = 0
    private var frames: UInt64 = 0

    private enum CodingKeys: String, CodingKey {
      case user, line, feedback, rateKbps, audioKbps, videoKbps, videos, videosShown, framesPerSecond, layers, freezes
      case longestGapMs, lossRatio, repaired, estimateKbps, serverSays, serverEstimateKbps
    }
  }
}

extension Report.LineRow {
  /// Bytes of the headers around a payload: RTP with extensions, SRTP's tag, UDP and IPv4.
  private static let overhead = 20 + 16 + 28

  init(_ user: String, _ shape: LineShape, _ group: PeopleGroup) {
    self.user = user
    feedback = group.feedback.rawValue
    rateKbps = shape.down.map { Double($0) / 1_000 }
    var parts = [rateKbps.map { "\(rounded($0)) kbit/s" } ?? "unlimited", "\(rounded(shape.delay.seconds * 1_000)) ms"]
    if let up = shape.up { parts.append("up \(rounded(Double(up) / 1_000)) kbit/s") }
    if shape.loss > 0 { parts.append("\(rounded(shape.loss * 100)) % loss") }
    if let definition = group.definition { parts.append("asks for \(definition.rawValue)") }
    line = parts.joined(separator: ", ")
  }

  /// What came in all, in kbit/s on the line.
  var kbps: Double { audioKbps + videoKbps }
  /// That as a share of the line's rate; nil without a bottleneck.
  var share: Double? { rateKbps.map { kbps / max(1, $0) } }

  /// Adds what a stream did since `before` in a window of so many seconds.
  mutating func add(_ stream: ReceiveStatistics, since before: ReceiveStatistics?, seconds: Double) {
    func since(_ path: KeyPath<ReceiveStatistics, UInt64>) -> UInt64 {
      stream[keyPath: path] - min(before?[keyPath: path] ?? 0, stream[keyPath: path])
    }
    let packets = since(\.packets)
    let bits = Double(since(\.bytes) + packets * UInt64(Self.overhead)) * 8
    let rate = bits / 1_000 / max(0.001, seconds)
    received += packets
    lost += since(\.lost)
    lossRatio = lost > 0 ? Double(lost) / Double(lost + received) : 0
    repaired += since(\.repaired)
    guard stream.kind == .video else {
      audioKbps += rate
      return
    }
    videoKbps += rate
    if stream.isActive { videos += 1 }
    guard packets > 0 else { return }
    videosShown += 1
    freezes += since(\.freezes)
    layers[min(Int(stream.layer), 2)] += 1
    longestGapMs = max(longestGapMs, stream.longestGap.seconds * 1_000)
    frames += since(\.frames)
    framesPerSecond = Double(frames) / max(0.001, seconds) / Double(videosShown)
  }
}

// MARK: Text and page

extension Report {
  private static let lineColumns = [
    "who", "line", "feedback", "kbit/s", "of it", "videos", "low/mid/high", "fps", "freezes", "gap ms", "loss %",
    "repaired", "says kbit/s", "server says", "kbit/s",
  ]

  /// One row a line.
  var lineTable: String { aligned([Self.lineColumns] + lines.map(\.cells)).indented }

  /// The same for the page; nothing where nobody has a line.
  var lineSection: String {
    guard !lines.isEmpty else { return "" }
    let row = { (tag: String, cells: [String]) in
      "<tr>" + cells.map { "<\(tag)>\(escaped($0))</\(tag)>" }.joined() + "</tr>"
    }
    let rows = lines.map { row("td", $0.cells) }.joined()
    return "<section><h2>Lines</h2><table>\(row("th", Self.lineColumns))\(rows)</table></section>"
  }
}

extension Report.LineRow {
  fileprivate var cells: [String] {
    [
      user, line, feedback, rounded(kbps.rounded()), share.map(percent) ?? "-", "\(videosShown) of \(videos)",
      layers.map(String.init).joined(separator: "/"), rounded(framesPerSecond), "\(freezes)",
      rounded(longestGapMs.rounded()), rounded(lossRatio * 100), "\(repaired)",
      estimateKbps.map { rounded($0.rounded()) } ?? "-", serverSays ?? "-", serverEstimateKbps.map(rounded) ?? "-",
    ]
  }
}

extension String {
  /// With two blanks before each line.
  fileprivate var indented: String {
    split(separator: "\n", omittingEmptySubsequences: false).map { "  \($0)" }.joined(separator: "\n")
  }
}
