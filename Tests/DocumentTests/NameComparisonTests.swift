// Nowhere in the sources is somebody found by what Swift calls equal: by beginnings of texts, or by texts that are joined of names. Both
// differ from bytes even among names in form C (docs/access.md). What is no name stands in a list, and was looked at.

import Foundation
import Testing

struct NameComparisonTests {
  /// Compares beginnings and ends by letters, or joined texts as wholes or as keys.
  private static func isSuspicious(_ line: some StringProtocol) -> Bool {
    // Most lines are none of these, and patterns take their time.
    let bytes = line.utf8
    guard
      bytes.contains(UInt8(ascii: "\\")) || bytes.contains(UInt8(ascii: "+")) || line.contains("fix(")
        || line.contains(".commonPrefix") || line.contains(".starts(")
    else { return false }
    let code = line.trimmingCharacters(in: .whitespaces)
    guard !code.hasPrefix("//") else { return false }
    let patterns: [Regex<Substring>] = [
      // `begins(with:)` and `isExactly` of Basics are for names.
      /\.(?:hasPrefix|hasSuffix|commonPrefix)\(/, /(?:^|[^8])\.starts\(with:/,
      // x == "\(room)-…", and the other way round.
      /[=!]= *"[^"]*\\\(/, /"[^"]*\\\([^"]*" *[=!]=/, /[=!]= *\w[\w.]* \+ "/, /[=!]= *\w[\w.]* \+ [A-Za-z]/,
      // table["\(room)-…"], and what else takes a key.
      /[\w\]\)?]\["[^"]*\\\(/, /(?:forKey|of|named): "[^"]*\\\(/, /\.(?:insert|contains|remove)\("[^"]*\\\(/,
      /[\w\]\)?]\[\w[\w.]* \+ "/,
      // case "\(room)-…":
      /case "[^"]*\\\(/,
    ]
    return patterns.contains { code.contains($0) }
  }

  /// Lines of each file that compare no name: words of formats and of this server's own making, addresses, paths and numbers.
  private static let reviewed: [String: [String]] = [
    "Admin/ProcessMetrics.swift": [#"hasPrefix("btime ")"#],
    "Rooms/Subscribing.swift": [#"$0.subscriptionId == "\(subscription.id)""#],
    "Configuration/AdminConfiguration.swift": [#"token.hasPrefix(" ") || token.hasSuffix(" ")"#],
    "Configuration/Section.swift": ["comparable($0).starts(with: target)"],
    "Configuration/URLKinds.swift": [
      "origin.hasSuffix(port)", #"url.hasPrefix("turn:")"#, "text.hasPrefix(scheme)",
    ],
    "Configuration/ValueKinds.swift": [#"!path.hasPrefix("/")"#],
    "DTLS/DTLSRecords.swift": ["datagram.count == headerLength + shortestEncrypted + 2"],
    "Forwarding/NackTracker.swift": ["$0.sequence == newest + ahead"],
    "RoostProtocol/DecodingProblem.swift": [
      #"text.hasPrefix("expected ")"#, #"String(describing: type).hasPrefix("Array")"#,
    ],
    "RoostProtocol/RawJSON.swift": ["rest.starts(with: $0)"],
    "WebClient/ContentCoding.swift": [#"weight.hasPrefix("q=")"#],
    "WebClient/WebClient.swift": [#"path.hasSuffix(".js")"#],
    "WebSockets/HostPolicy.swift": [
      #"name.hasSuffix(".localhost")"#, #"rest.hasPrefix("[")"#, #"name.hasSuffix(".")"#,
    ],
    "WebSockets/PathPattern.swift": [#"part.hasPrefix("{")"#],
    "WebSockets/ProxyHeader.swift": [
      "bytes.starts(with: Self.firstWord)", "Self.firstWord.starts(with: bytes)", "bytes.count == 16 + length",
    ],
    "WebSockets/RequestHeads.swift": [#"line.starts(with: "HEAD ".utf8)"#],
    "WebSockets/WebServerConfiguration.swift": ["origin.hasPrefix($0)", "host.hasSuffix(suffix)"],
    "WebSockets/WebSocketURL.swift": [
      "lower.hasPrefix($0.0)", #"tail.hasPrefix("/")"#, #"host.hasPrefix("[")"#, #"host.hasSuffix("]")"#,
    ],
    "Whip/WhipFragment.swift": [#"line.hasPrefix("m=")"#, "line.hasPrefix($0)", #"line.hasPrefix("a="#],
    "Whip/WhipRequest.swift": [#"$0.hasPrefix("q=0")"#, #"path.hasPrefix("/whep")"#],
    "roost/Arguments.swift": [#"word.hasPrefix("-")"#, #"word.hasPrefix("--config=")"#],
    "roost/Machine.swift": [#"$0.hasPrefix("flags")"#],
    "roost/WebServers.swift": [#"url.hasPrefix("http://")"#, #"rest.hasPrefix("[")"#],
  ]

  @Test func namesAreComparedByTheirBytes() throws {
    let files = SourceFiles.paths.keys
    #expect(files.count > 300)
    var unused = Self.reviewed
    for file in files {
      let text = try SourceFiles.text(file)
      for line in text.split(separator: "\n") where Self.isSuspicious(line) {
        let fragment = Self.reviewed[file]?.first { line.contains($0) }
        #expect(
          fragment != nil,
          "\(file): \(line): compare names with begins(with:) or isExactly, key them by ExactText or a struct of parts")
        unused[file]?.removeAll { $0 == fragment }
      }
    }
    #expect(unused.filter { !$0.value.isEmpty } == [:], "is not there any more")
  }

  /// The control: each of these is found, and its like by bytes is not.
  @Test(arguments: [
    #"room.hasPrefix(start) && room != start"#, #"guard name.starts(with: "team-") else { return }"#,
    #"return track.label == "\(room)-\(login)""#, #"if "\(room)/\(user)" == key {"#,
    #"seats["\(room)-\(user)"] = seat"#,
    #"names.insert("\(user) \(device)")"#, #"lanes.removeValue(forKey: "\(call) \(user)")"#,
    #"where label == room + "-" + user"#,
    #"table[room + "-" + user] = 1"#, #"case "\(room)-x": break"#, #"all.firstIndex(of: "\(room) \(user)")"#,
    #"a.commonPrefix(with: b)"#, #"label.hasSuffix(user)"#,
  ]) func whatComparesLettersIsFound(line: String) { #expect(Self.isSuspicious(line)) }

  @Test(arguments: [
    #"room.begins(with: start)"#, #"room.utf8.starts(with: start.utf8)"#, #"room.isExactly(name)"#,
    #"seats[Place(room: room, user: user)] = seat"#, #"lanes[ExactText("\(call) \(user)")]"#, #"// a.hasPrefix(b)"#,
  ]) func whatComparesBytesIsNot(line: String) { #expect(!Self.isSuspicious(line)) }
}
