// The embedded files as the front door sees them.
import RoostProtocol
import Testing

@testable import WebClient

@Suite struct WebClientTests {
  @Test(arguments: [
    ("/", "text/html; charset=utf-8"), ("/index.html", "text/html; charset=utf-8"),
    ("/?room=demo&name=anna", "text/html; charset=utf-8"), ("/app.js", "text/javascript; charset=utf-8"),
    ("/roost.js", "text/javascript; charset=utf-8"), ("/style.css?x", "text/css; charset=utf-8"),
    ("/call.js", "text/javascript; charset=utf-8"), ("/icon.svg", "image/svg+xml"),
    ("/roost.d.ts", "text/plain; charset=utf-8"), ("/package.json", "application/json"),
    ("/sound.js", "text/javascript; charset=utf-8"), ("/sound.d.ts", "text/plain; charset=utf-8"),
  ])
  func servesEveryFile(path: String, contentType: String) throws {
    let asset = try #require(WebClient.asset(path: path))
    #expect(asset.contentType == contentType)
    #expect(!asset.bytes.isEmpty)
    #expect(asset.etag.hasPrefix("\"") && asset.etag.hasSuffix("\"") && asset.etag.utf8.count > 10)
  }

  @Test(arguments: ["", "?", "index.html", "/nothing", "/../rooms.yaml", "//", "/rtc", "/index.html/"])
  func refusesEverythingElse(path: String) {
    #expect(WebClient.asset(path: path) == nil)
  }

  @Test func differentFilesHaveDifferentTags() {
    let tags = Set(WebClient.assets.values.map(\.etag))
    #expect(tags.count == WebClient.assets.count - 1, "/ and /index.html are one page")
  }

  /// A module that is imported and not embedded would leave the page blank.
  @Test func everyImportIsServed() {
    for file in WebClient.assets.values where file.path.hasSuffix(".js") {
      for name in imports(file) + importsLater(file) {
        #expect(WebClient.asset(path: name) != nil, "\(file.path) imports \(name)")
      }
    }
  }

  private func imports(_ file: WebAsset) -> [String] {
    String(decoding: file.bytes, as: UTF8.self).matches(of: /from "\.\/([a-z]+\.js)"/).map { "/" + $0.1 }
  }

  /// What a script loads when it needs it.
  private func importsLater(_ file: WebAsset) -> [String] {
    String(decoding: file.bytes, as: UTF8.self).matches(of: /import\("\.\/([a-z]+\.js)"\)/).map { "/" + $0.1 }
  }

  /// What a browser loads for the page: the page, what that names, and what its scripts import in turn.
  private func loadedByThePage() throws -> [String: WebAsset] {
    let page = try #require(WebClient.asset(path: "/index.html"))
    let named = String(decoding: page.bytes, as: UTF8.self).matches(of: /(?:src|href)="\/?([a-z]+\.[a-z]+)"/).map {
      "/" + $0.1
    }
    return try withImports(named, beside: [page.path: page])
  }

  /// What is loaded then, with these files and what they import in turn.
  private func withImports(_ paths: [String], beside known: [String: WebAsset]) throws -> [String: WebAsset] {
    var (loaded, wanted) = (known, paths)
    while let path = wanted.popLast() {
      guard loaded[path] == nil else { continue }
      let file = try #require(WebClient.asset(path: path), "\(path)")
      loaded[path] = file
      wanted += imports(file)
    }
    return loaded
  }

  /// A module that is not preloaded is asked for only once the one that imports it has arrived: a round trip for each storey of imports.
  @Test func thePageAsksForAllItsModulesAtOnce() throws {
    let page = String(decoding: try #require(WebClient.asset(path: "/")).bytes, as: UTF8.self)
    let preloaded = page.matches(of: /rel="modulepreload" href="([^"]*)"/).map { String($0.1) }
    let imported = try withImports(["/app.js"], beside: [:]).keys.filter { $0 != "/app.js" }
    #expect(preloaded == imported.sorted() && imported.count > 30)
  }

  /// The modules of the SDK send no method that the protocol does not have: what stands as the method in each place where one of them
  /// makes a request. Programs send the others with `request`, whose types know every method.
  @Test func theSDKKnowsEveryMethodOfTheProtocol() throws {
    let modules = ["session", "client", "call", "callbook", "room", "tracks", "peers", "views"]
    let request = /(?:equest|#change|#enter)\((?:[^"();]*\? )?"([a-z]+(?:\.[a-zA-Z]+)?)"(?: : "([a-z.A-Z]+)")?/
    let named = /method: "([a-z]+(?:\.[a-zA-Z]+)?)"/
    var sent: Set<String> = []
    for module in modules {
      let script = String(decoding: try #require(WebClient.asset(path: "/\(module).js")).bytes, as: UTF8.self)
      for match in script.matches(of: request) {
        sent.insert(String(match.1))
        if let other = match.2 { sent.insert(String(other)) }
      }
      for match in script.matches(of: named) { sent.insert(String(match.1)) }
    }
    let methods = Set(Method.allCases.map(\.rawValue))
    #expect(sent.isSubset(of: methods) && sent.count >= 44)
    let types = String(decoding: try #require(WebClient.asset(path: "/roost.d.ts")).bytes, as: UTF8.self)
    let table = try #require(
      types.components(separatedBy: "  interface Requests {\n").last?.split(separator: "}").first)
    #expect(Set(table.matches(of: /"([a-z]+(?:\.[a-zA-Z]+)?)"/).map { String($0.1) }) == methods)
    #expect(types.contains("request<Name extends keyof wire.Requests>"))
  }

  /// What is loaded by `import()`, and how much travels then beside what the page has: for who goes online for calls, who has a token,
  /// where somebody moderates, and for who does.
  private static let later = [
    "/online.js": 14 * 1024, "/tokens.js": 1536, "/moderated.js": 1536, "/moderating.js": 3 * 1024,
  ]

  @Test func whatFewNeedIsLoadedForThemAlone() throws {
    let first = try loadedByThePage()
    #expect(Set(first.values.flatMap(importsLater)) == Set(Self.later.keys))
    for (path, limit) in Self.later {
      #expect(first[path] == nil, "\(path) is loaded by everybody")
      let added = try withImports([path], beside: first).filter { first[$0.key] == nil }.values
      #expect(added.contains { $0.path == path } && added.flatMap(importsLater).isEmpty)
      let size = added.reduce(0) { $0 + $1.representation(accepting: "gzip").bytes.count }
      #expect(size <= limit, "\(path) and what it imports: \(size) bytes")
    }
  }

  @Test func isSmallAndKeepsItsOwnPolicy() throws {
    let loaded = try loadedByThePage()
    // Types and the package file are for those who write programs; no browser asks for them. A program that plays by `sound.js` imports
    // that itself.
    let later = try withImports(Array(Self.later.keys), beside: loaded)
    let others = Set(WebClient.assets.keys).subtracting(later.keys)
    #expect(others == ["/", "/roost.d.ts", "/sound.d.ts", "/package.json", "/sound.js"])
    let sound = try #require(WebClient.asset(path: "/sound.js"))
    #expect(sound.representation(accepting: "gzip").bytes.count <= 2 * 1024)
    let files = later.values + [sound]
    // What travels: a phone on a slow line of 1 Mbit/s has it in 0.7 s. The SDK is somewhat less than the half of it.
    #expect(loaded.values.reduce(0) { $0 + $1.representation(accepting: "gzip").bytes.count } <= 90 * 1024)
    // What a browser has to read then.
    #expect(loaded.values.reduce(0) { $0 + $1.bytes.count } <= 400 * 1024)
    let page = String(decoding: try #require(WebClient.asset(path: "/")).bytes, as: UTF8.self)
    for forbidden in ["<style", "style=\"", "onclick", "javascript:", "http://", "https://"] {
      #expect(!page.contains(forbidden), "\(forbidden) would break the content security policy")
    }
    #expect(files.count(where: { $0.path.hasSuffix(".js") }) == text(".js").count)
    for file in files where file.path.hasSuffix(".js") {
      let script = String(decoding: file.bytes, as: UTF8.self)
      for forbidden in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
        #expect(!script.contains(forbidden), "\(forbidden) in \(file.path): names and chat come from strangers")
      }
    }
  }

  // MARK: nothing from elsewhere

  private func text(_ suffix: String) -> [(path: String, text: String)] {
    WebClient.assets.values.filter { $0.path.hasSuffix(suffix) }.map {
      ($0.path, String(decoding: $0.bytes, as: UTF8.self))
    }
  }

  /// What a page loads by itself, from HTML and SVG: files of ours, and symbols of the page itself.
  @Test func markupNamesOnlyItsOwnFiles() throws {
    let references = /(?:src|href|srcset|action|formaction|poster|data|background)\s*=\s*["']?([^"'\s>]*)/
    for (path, markup) in text(".html") + text(".svg") {
      for match in markup.matches(of: references) {
        let isOurs = match.1.hasPrefix("#") || WebClient.asset(path: String(match.1)) != nil
        #expect(isOurs, "\(path) names \(match.1)")
      }
      for element in ["<base", "<iframe", "<object", "<embed", "<foreignObject", "@import", "url("] {
        #expect(!markup.contains(element), "\(element) in \(path)")
      }
    }
    #expect(text(".html").count == 1 && text(".svg").count == 1)
  }

  @Test func styleNamesNothing() {
    for (path, style) in text(".css") {
      for word in ["@import", "@font-face", "url(", "image-set(", "src(", "//"] {
        #expect(!style.lowercased().contains(word), "\(word) in \(path)")
      }
    }
    #expect(text(".css").count == 1)
  }

  /// Scripts import each other and nothing else, and reach the server by its WebSocket alone.
  @Test func scriptsReachNothingElse() {
    let imported = /(?:\bfrom|\bimport)\s*\(?\s*(["'`][^"'`]*)/
    let reaching = [
      "fetch(", "XMLHttpRequest", "sendBeacon", "EventSource", "WebTransport", "importScripts", "Worker(",
      "import.meta",
      "FontFace", "new Image", "createElement(\"script\")", "createElement(\"link\")", "createElement(\"img\")",
    ]
    for (path, script) in text(".js") {
      for match in script.matches(of: imported) where !match.1.dropFirst().allSatisfy({ $0 == " " }) {
        #expect(match.1.dropFirst().hasPrefix("./"), "\(path) imports \(match.1)")
      }
      for word in reaching { #expect(!script.contains(word), "\(word) in \(path)") }
      // Comments have examples, the name of the SVG language is no address, and people are told of https:// pages.
      let code = script.split(separator: "\n").filter { $0.firstMatch(of: /^ *(?:\/\/|\/\*|\*)/) == nil }
      let rest = code.joined(separator: "\n").replacing("http://www.w3.org/2000/svg", with: "")
        .replacing("with https:// or", with: "")
      for match in rest.matches(of: /["'`](?:https?:|wss?:)?\/\/[^"'`]*/) {
        Issue.record("\(path) has the address \(match.0)")
      }
    }
    #expect(text(".js").count > 10)
  }

  /// The policy that holds the page to it in the browser, whatever a later change forgets.
  @Test func thePolicyNamesNoOtherOrigin() throws {
    let policy = try #require(WebClient.headers.first { $0.name == "Content-Security-Policy" }?.value)
    let allowed: Set = ["'none'", "'self'", "data:", "blob:", "mediastream:", "ws:", "wss:"]
    var directives: [String: Set<String>] = [:]
    for directive in policy.split(separator: ";") {
      let words = directive.split(separator: " ").map(String.init)
      directives[words[0]] = Set(words.dropFirst())
      #expect(allowed.isSuperset(of: words.dropFirst()), "\(directive)")
    }
    #expect(directives["default-src"] == ["'none'"] && directives["script-src"] == ["'self'"])
    #expect(directives["style-src"] == ["'self'"] && directives["base-uri"] == ["'none'"])
  }
}
