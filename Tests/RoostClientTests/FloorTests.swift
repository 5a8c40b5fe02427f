// Apps take RoostClient from iOS 16 and macOS 13 on, and tools RoostAdmin. Here nobody can build for those, so a list of what is newer is
// held against the code of all modules that come with them, and of the sample for phones (docs/roost-client.md).
import Foundation
import Testing

/// What older systems do not have.
private struct Newer {
  /// Names of their own, by the first macOS that has them. A name on the list is the system's alone: what is ours is called otherwise.
  private static let lists: [(since: String, names: String)] = [
    ("26", "span mutableSpan utf8Span UTF8Span InlineArray Observations withTaskPriorityEscalationHandler"),
    ("26", "immediateDetached addImmediateTask addImmediateTaskUnlessCancelled isIsolatingCurrentContext"),
    (
      "15",
      "Mutex Atomic AtomicLazyReference AtomicRepresentable AtomicOptionalRepresentable WordPair atomicMemoryFence"
    ),
    (
      "15", "Synchronization Int128 UInt128 RangeSet DiscontiguousSlice removeSubranges removingSubranges moveSubranges"
    ),
    ("15", "TaskExecutor UnownedTaskExecutor withTaskExecutorPreference globalConcurrentExecutor"),
    ("14", "Observation Observable ObservationRegistrar ObservationIgnored ObservationTracked withObservationTracking"),
    ("14", "withDiscardingTaskGroup withThrowingDiscardingTaskGroup DiscardingTaskGroup ThrowingDiscardingTaskGroup"),
    ("14", "ExecutorJob JobPriority Predicate SwiftData LiveCommunicationKit AVAudioApplication"),
    ("13.3", "StaticBigInt"),
    ("…, of the standard library alone", "_nfc _nfd"),
  ]

  private static let names: [String: String] = Dictionary(
    lists.flatMap { list in list.names.split(separator: " ").map { (String($0), list.since) } }
  ) { first, _ in first }

  /// What has no name of its own. `word` stands on the line where it is.
  private let shapes: [(word: String, name: String, pattern: Regex<Substring>)] = [
    ("of", "[n of T] (macOS 26)", /\[\s*[\w.]+\s+of\s+[\w(\[]/),
    ("let", "a generic value (macOS 26)", /<[^<>;{}]*\blet\s+\w+\s*:/),
    ("name", "Task.name (macOS 26)", /\bTask\s*\.\s*name\b/),
    ("immediate", "Task.immediate (macOS 26)", /\.\s*immediate\b/),
    ("attoseconds", "Duration(attoseconds:) (macOS 15)", /\(\s*attoseconds\s*:/),
    ("copying", "String(copying:) (macOS 26)", /\(\s*copying\s*:/),
    ("deinit", "isolated deinit (macOS 15.4)", /\bisolated\s+deinit\b/),
    ("AsyncSequence", "AsyncSequence<…> (macOS 15)", /\bAsyncSequence\s*</),
    ("isolation", "next(isolation:) (macOS 15)", /\.\s*next\s*\(\s*isolation\s*:/),
    ("executorPreference", "a task on an executor (macOS 15)", /\bexecutorPreference\s*:/),
    ("indices", "indices(where:) (macOS 15)", /\.\s*indices\s*(?:\(\s*(?:where|of)\s*:|\{\s*\$0)/),
    ("validating", "String(validating:) (macOS 15)", /\(\s*validating\s*:/),
    ("isolated", "@isolated(any) (macOS 15)", /@isolated\s*\(\s*any\s*\)/),
    // A function's type as a generic argument needs the run time's word for it.
    ("throws", "[() throws(E) -> T] (macOS 15)", /[\[<]\s*(?:@\w+\s+)*\([^()]*\)\s*(?:async\s+)?throws\s*\(/),
    ("throws", "(() throws(E) -> T)? (macOS 15)", /\bthrows\s*\(\s*\w+\s*\)\s*->\s*[\w.\[\]<>]+\s*\)\s*\?/),
    ("each", "a pack of generic types (macOS 14)", /\b(?:struct|class|enum|actor)\s+\w+\s*<[^<>{}]*\beach\b/),
  ]

  /// What is newer in a file, with its line.
  func uses(in code: AppleCode) -> [String] {
    code.lines.enumerated().flatMap { index, line in
      let words = line.utf8.split { !Self.isOfWord($0) }.map { String(Substring($0)) }
      let named = words.compactMap { word in Self.names[word].map { "\(word) (macOS \($0))" } }
      let shaped = shapes.filter { words.contains($0.word) && line.contains($0.pattern) }.map(\.name)
      return (named + shaped).map { "line \(index + 1): \($0)" }
    }
  }

  private static func isOfWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
      true
    default: false
    }
  }
}

/// The targets of Package.swift that an app on Apple's platforms builds.
private struct Closure {
  /// Folders of Swift code by target, from the root.
  private(set) var folders: [String: String] = [:]
  /// All targets of the package that it does not build.
  private(set) var absent: Set<String> = []
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

  static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// What these targets need, and what those need.
  init(of roots: [String]) throws {
    let targets = try Self.targets()
    absent = Set(targets.keys)
    var next = roots
    while let name = next.popLast() {
      guard absent.remove(name) != nil, let target = targets[name] else { continue }
      folders[name] = target.folder
      next += target.needs
    }
  }

  /// Each call in Package.swift that makes a target, as far as its closing parenthesis.
  private static func targets() throws -> [String: (folder: String, needs: [String])] {
    let manifest = try text("Package.swift")
    let starts = manifest.matches(
      of: /(?:\bmodule|\bhot|\btests|\.target|\.executableTarget|\.systemLibrary|\.testTarget)\(\s*(?:name: )?"(\w+)"/)
    var found: [String: (String, [String])] = [:]
    for start in starts {
      var depth = 1
      let rest = manifest[start.range.upperBound...].prefix { character in
        depth += character == "(" ? 1 : character == ")" ? -1 : 0
        return depth > 0
      }
      // For Linux alone.
      let body = rest.replacing(/\.target\(name: "\w+", condition: \.when\(platforms: \[\.linux\]\)\)/, with: "")
      let name = String(start.1)
      // `.target(name: "X")` among a target's dependencies is no target.
      guard found[name] == nil else { continue }
      let path = body.firstMatch(of: /path: "([^"]+)"/).map { String($0.1) } ?? folder(of: name)
      let lists = body.replacing(/(path|pkgConfig): "[^"]+"/, with: "")
      found[name] = (path, lists.matches(of: /"(\w+)"/).map { String($0.1) })
    }
    return found
  }

  /// The folder of a target that names none: it lies in one of the storeys of `Sources`.
  private static func folder(of name: String) -> String {
    let storeys = (try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: "Sources").path)) ?? []
    let folders = storeys.map { "Sources/\($0)/\(name)" }
    return folders.first { FileManager.default.fileExists(atPath: root.appending(path: $0).path) } ?? ""
  }

  /// Its files of Swift, from the root.
  var files: [String] {
    folders.values.flatMap { folder in
      let paths = FileManager.default.enumerator(atPath: Self.root.appending(path: folder).path)
      return paths?.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.map { "\(folder)/\($0)" } ?? []
    }.sorted()
  }
}

@Suite struct FloorTests {
  private static let floor = "platforms: [.macOS(.v13), .iOS(.v16)]"

  private func uses(_ text: String) -> [String] {
    let code = AppleCode(text, absent: ["WebSockets"])
    #expect(code.isWhole, "\(text)")
    return Newer().uses(in: code)
  }

  @Test func whatAppsBuildRunsOnTheFloor() throws {
    let closure = try Closure(of: ["RoostClient", "RoostAdmin", "PhoneSample"])
    #expect(
      Set(closure.folders.keys) == [
        "RoostClient", "RoostAdmin", "PhoneSample", "RoostProtocol", "Basics", "CPrefetch",
      ],
      "what comes with the client is part of every app")
    #expect(closure.absent.contains("WebSockets") && closure.files.count > 70)
    let newer = Newer()
    for file in closure.files {
      let code = AppleCode(try Closure.text(file), absent: closure.absent)
      #expect(code.isWhole, "\(file) was not understood")
      #expect(newer.uses(in: code) == [], "\(file): older systems lack it. Branch with #if, or do without")
      let strangers = code.lines.compactMap { $0.firstMatch(of: /\bimport (?:struct |func |class |enum )?(\w+)/) }
        .map { String($0.1) }.filter(closure.absent.contains)
      #expect(strangers == [], "\(file) imports what is not built there")
    }
  }

  @Test(arguments: ["Package.swift", "Samples/Phone/Package.swift"]) func bothPackagesHaveTheFloor(file: String) throws
  {
    let text = try Closure.text(file)
    #expect(text.contains(Self.floor))
    #expect(text.matches(of: /platforms: \[\.mac/).count == 1)
  }

  @Test(arguments: [
    "let n = bytes.span.count", "bytes\n  .span[0]", "text.utf8 . span", "{ $0.span }", #"bytes[keyPath: \.span]"#,
    "extension [UInt8] { var first: UInt8 { span[0] } }", "bytes?.`span`", "var all = bytes.mutableSpan",
    "text.utf8Span", "let a: InlineArray<3, Int>", "let a: [3 of Int] = [1, 2, 3]", "let a: [_ of Int]",
    "struct Row<let count: Int> {}", "let value = Mutex(0)", "let count = Atomic<Int>(0)",
    "internal import Synchronization", "import Synchronization", "name._nfc", "Array(name._nfc)",
    "isolated deinit {}", "some AsyncSequence<Int, Never>", "let n: UInt128", "@Observable class Model {}",
    "await withDiscardingTaskGroup { _ in }", "struct Pack<each T> {}", "let all: [() throws(E) -> Int]",
    "let one: (() throws(E) -> Int)?", "Task.immediate { }", "Task.name", "Duration(attoseconds: 1)",
    #"print("\(bytes.span.count) bytes")"#,
    ##"print(#"\#(f(bytes).span)"#)"##, "#if os(iOS)\nbytes.span\n#endif", "#if canImport(Darwin)\nbytes.span\n#endif",
    "#if os(Linux)\n#else\nbytes.span\n#endif", "#if !canImport(WebSockets) && canImport(Darwin)\nbytes.span\n#endif",
    "#if os(Linux)\n#elseif DEBUG\nbytes.span\n#endif", "#if !os(Linux) || DEBUG\nbytes.span\n#endif",
    "#if compiler(>=6.2)\nbytes.span\n#endif",
  ]) func whatIsNewerIsFound(text: String) { #expect(uses(text) != [], "\(text)") }

  @Test(arguments: [
    "// bytes.span", "/* bytes.span /* Mutex */ Atomic */ let a = 1", #"print("bytes.span, Mutex, Atomic<Int>")"#,
    ##"let a = #"a "quoted" .span"#"##, "let a = \"\"\"\n  bytes.span and \"Mutex\"\n  \"\"\"", #""\(a) .span""#,
    #""\\" + "" // .span"#, "let spanOf = 1", "bytes.spanOf(1)", "func lifespan() {}", "func f(_ a: Span<UInt8>) {}",
    "a.withUnsafeBufferPointer { Span(_unsafeElements: $0) }", "pthread_mutex_t()", "let atomic = mutex",
    "[index of]", "length.components.attoseconds", "try request(to: of)", "throws(RoostError) -> [Call]",
    "let f: @Sendable () throws(E) -> Int",
    "#if os(Linux)\nbytes.span\n#endif", "#if !canImport(Darwin)\nbytes.span\n#endif",
    "#if canImport(Darwin)\n#else\nbytes.span\n#endif", "#if canImport(WebSockets)\nimport Synchronization\n#endif",
    "#if canImport(Glibc)\nbytes.span\n#elseif canImport(Darwin)\n#else\nbytes.span\n#endif",
    "#if os(Linux) && (DEBUG || true)\n#if DEBUG\nbytes.span\n#endif\n#endif",
    "#if !(canImport(Darwin) || DEBUG)\nbytes.span\n#endif",
  ]) func whatIsOldIsNot(text: String) { #expect(uses(text) == [], "\(text)") }
}
