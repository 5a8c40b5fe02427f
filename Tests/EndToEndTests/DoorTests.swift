// What strangers may throw at the signalling door of a live server: each gets a clear answer, and those who talk notice
// nothing.

import Basics
import Configuration
import Glibc
import RoostClient
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct Doors {
    /// What to send, and how it ends.
    struct Attack: CustomTestStringConvertible, Sendable {
      var testDescription: String
      var bytes: [UInt8]
      /// Codes of the errors that come, in order; nil stands for a result.
      var answers: [Int?] = []
      /// The close code that follows.
      var closeCode: UInt16?
      /// Whether the connection ends.
      var ends = false
    }

    private static func text(_ text: String) -> [UInt8] { RawSocket.frame(1, Array(text.utf8)) }
    private static let ping = #"{"jsonrpc":"2.0","id":7,"method":"ping"}"#
    private static func resume(_ lastSeq: String) -> [UInt8] {
      text(#"{"jsonrpc":"2.0","id":1,"method":"session.resume","params":{"resumeToken":"x","lastSeq":\#(lastSeq)}}"#)
    }

    static let attacks: [Attack] = [
      Attack(
        testDescription: "a megabyte",
        bytes: RawSocket.frame(1, [UInt8](repeating: 0x20, count: 1 << 20)) + text(ping), answers: [1010, nil]),
      Attack(
        testDescription: "a megabyte in many frames",
        bytes: RawSocket.frame(1, [], isFinal: false)
          + (0..<256).flatMap { _ in RawSocket.frame(0, [UInt8](repeating: 0x5b, count: 4096), isFinal: false) }
          + RawSocket.frame(0, []) + text(ping), answers: [1010, nil]),
      Attack(
        testDescription: "a frame a byte",
        bytes: ping.utf8.enumerated().flatMap { RawSocket.frame($0 == 0 ? 1 : 0, [$1], isFinal: false) }
          + RawSocket.frame(0, []), answers: [nil]),
      Attack(
        testDescription: "fifty thousand empty frames",
        bytes: RawSocket.frame(1, [], isFinal: false)
          + (0..<50_000).flatMap { _ in RawSocket.frame(0, [], isFinal: false) }
          + RawSocket.frame(0, Array(ping.utf8)), answers: [nil]),
      Attack(
        testDescription: "deep JSON",
        bytes: text(
          #"{"jsonrpc":"2.0","id":1,"method":"room.join","params":{"room":"x","metadata":"#
            + String(repeating: "[", count: 30_000) + String(repeating: "]", count: 30_000) + "}}"),
        answers: [1010]),
      Attack(
        testDescription: "many values", bytes: text("[" + String(repeating: "1,", count: 30_000) + "1]"),
        answers: [-32600]),
      Attack(testDescription: "an infinite id", bytes: text(#"{"id":1e999,"method":"ping"}"#), answers: [-32600]),
      Attack(
        testDescription: "numbers beyond all bounds",
        bytes: ["1e999", "-1e400000000", String(repeating: "9", count: 400), "18446744073709551616", "0.5"]
          .flatMap(resume), answers: [-32602, -32602, -32602, -32602, -32602]),
      Attack(
        testDescription: "text that is not UTF-8", bytes: RawSocket.frame(1, [0x22, 0xff, 0xfe, 0x22]), closeCode: 1007,
        ends: true),
      Attack(
        testDescription: "half a surrogate",
        bytes: text(#"{"id":1,"method":"session.hello","params":{"user":"\ud800x"}}"#), answers: [-32602]),
      Attack(
        testDescription: "a NUL in a name",
        bytes: text(#"{"id":1,"method":"session.hello","params":{"user":"a\u0000b"}}"#), answers: [-32602]),
      Attack(
        testDescription: "keys that come twice",
        bytes: text(#"{"id":1,"id":2,"method":"ping","method":"ping","params":{},"params":[]}"#), answers: [nil]),
      Attack(
        testDescription: "ten bad in a row", bytes: (0..<12).flatMap { _ in text("nonsense") },
        answers: [Int?](repeating: -32700, count: 10), closeCode: 1008, ends: true),
      Attack(testDescription: "an unknown opcode", bytes: RawSocket.frame(3, [1]), closeCode: 1002, ends: true),
      Attack(testDescription: "a continuation of nothing", bytes: RawSocket.frame(0, [1]), closeCode: 1002, ends: true),
      Attack(testDescription: "a frame of 2^62 bytes and the end", bytes: [0x81, 0xff, 0x40, 0, 0, 0, 0, 0, 0, 0]),
    ]

    @Test func hostileFramesAreAnsweredAndHarmNobody() async throws {
      try await TestServer.with { server in
        let (anna, ben) = (try await Client(server.url, "anna"), try await Client(server.url, "ben"))
        for one in [anna, ben] { _ = try await one.session.join(room: "demo") }
        let before = residentBytes()
        // All at once: the server waits five seconds for whoever does not answer its close frame.
        try await withThrowingTaskGroup(of: Void.self) { group in
          for attack in Self.attacks { group.addTask { try await Self.make(attack, server) } }
          group.addTask { try await Self.makeNoise(server) }
          try await group.waitForAll()
        }

        _ = try await anna.session.request(.chat(.send(ChatSendParams(room: "demo", text: "still here"))))
        #expect(
          await eventually { await ben.heard.roomEvents.contains { if case .chatMessage = $0 { true } else { false } } }
        )
        #expect(await ben.heard.roomEvents.count == 1, "and nothing else")
        #expect(residentBytes() - before < mostGrowth)
      }
    }

    private static func make(_ attack: Attack, _ server: TestServer) async throws {
      let socket = try RawSocket(port: server.server.port)
      socket.upgrade()
      socket.write(attack.bytes)
      #expect(await eventually { socket.texts.count >= attack.answers.count }, "\(attack)")
      #expect(socket.texts.map(code) == attack.answers, "\(attack)")
      #expect(await eventually { socket.closeCode == attack.closeCode && socket.isOver == attack.ends }, "\(attack)")
    }

    private static func makeNoise(_ server: TestServer) async throws {
      let noise = try RawSocket(port: server.server.port)
      noise.upgrade()
      var random = SplitMix64(seed: 7)
      // A frame of control with a length that none may have, then anything.
      noise.write([0x89, 0xfe] + random.bytes(50_000))
      #expect(await eventually { noise.isOver })
    }

    /// Frames that are no JSON, with their lengths: what is too long is 1010, and the rest is read.
    @Test func framesAreLongerOnceThereIsASession() async throws {
      try await TestServer.with { server in
        let socket = try RawSocket(port: server.server.port)
        socket.upgrade()
        func say(_ bytes: Int) async -> Int? {
          let before = socket.texts.count
          socket.write(RawSocket.frame(1, [UInt8](repeating: 0x20, count: bytes)))
          guard await eventually({ socket.texts.count > before }) else { return nil }
          return Self.code(socket.texts[before])
        }
        #expect(await say(65_536) == -32700)
        #expect(await say(65_537) == 1010)
        socket.write(Self.text(#"{"jsonrpc":"2.0","id":1,"method":"session.hello","params":{"user":"anna"}}"#))
        #expect(await eventually { socket.texts.last?.contains("resumeToken") == true })
        #expect(await say(65_537) == -32700)
        #expect(await say(524_288) == -32700)
        #expect(await say(524_289) == 1010)
        #expect(socket.closeCode == nil)
      }
    }

    /// Tokens are tried at speed: each is a refusal, too many a second are 1006, and who never slows down is cut off.
    @Test func tokensCannotBeTriedAtSpeed() async throws {
      try await TestServer.with({
        $0.limits.requestsPerSecond = 50
        $0.limits.requestBurst = 200
      }) { server in
        let anna = try await Client(server.url, "anna")
        let guesser = try RawSocket(port: server.server.port)
        guesser.upgrade()
        func guess(_ numbers: Range<Int>) {
          guesser.write(
            numbers.flatMap { number in
              Self.text(
                #"{"id":\#(number),"method":"session.resume","params":{"resumeToken":"r1.\#(number)","lastSeq":0}}"#)
            })
        }
        // These are looked at, and on a busy machine that takes longer than to be cut off for the rest.
        guess(0..<10)
        #expect(await eventually { guesser.texts.count == 10 })
        guess(10..<4_000)
        #expect(await eventually { guesser.closeCode == 1008 && guesser.isOver })
        let codes = guesser.texts.map(Self.code)
        #expect(Set(codes) == [1007, 1006] && codes.count { $0 == 1007 } < 2_000)
        _ = try await anna.session.request(.session(.ping))
      }
    }

    /// Connections that never finish their handshake take no more than their share, and give it back.
    @Test func halfOpenConnectionsTakeOnlyTheirShare() async throws {
      try await TestServer.with({ $0.limits.connectionsPerAddress = 50 }) { server in
        let anna = try await Client(server.url, "anna")
        _ = try await anna.session.join(room: "demo")
        var half: [RawSocket] = []
        for _ in 0..<300 {
          let socket = try RawSocket(port: server.server.port)
          socket.write(Array("GET /rtc HTTP/1.1\r\nHos".utf8))
          half.append(socket)
        }
        #expect(await eventually { half.count { $0.isOver } == 251 }, "one of the fifty is anna's")
        _ = try await anna.session.request(.session(.ping))
        for socket in half { socket.reset() }
        let came = await eventually { (try? await Client(server.url, "ben")) != nil }
        #expect(came)
        #expect(await anna.heard.roomEvents.isEmpty)
      }
    }

    /// Who stops reading is cut off with a reason; the others get everything, in order, and hear that he is away.
    @Test func whoStopsReadingIsDroppedAndHoldsUpNobody() async throws {
      try await TestServer.with({
        $0.limits.outboxBytes = 64 << 10
        $0.chat.textBytes = 8192
        ($0.chat.messagesPerSecond, $0.chat.burst) = (100_000, 100_000)
        $0.sessions.resumeGrace = .seconds(600)
      }) { server in
        let (anna, ben) = (try await Client(server.url, "anna"), try await Client(server.url, "ben"))
        for one in [anna, ben] { _ = try await one.session.join(room: "demo") }
        let deaf = try RawSocket(port: server.server.port, receiveBuffer: 4096)
        deaf.upgrade()
        deaf.say(#"{"id":1,"method":"session.hello","params":{"user":"deaf"}}"#)
        deaf.say(#"{"id":2,"method":"room.join","params":{"room":"demo"}}"#)
        #expect(await eventually { deaf.texts.contains { $0.contains(#""id":2"#) } })

        let filling = String(repeating: "x", count: 8000)
        var sent = 0
        while sent < 5_000, await ben.heard.count(\.isReconnecting) == 0 {
          sent += 1
          _ = try await anna.session.request(.chat(.send(ChatSendParams(room: "demo", text: "\(sent) \(filling)"))))
        }
        #expect(await eventually { await ben.heard.count(\.isReconnecting) == 1 })
        #expect(server.log.all.contains { $0.contains("slow_reader") })
        let all = Array(1...sent)
        #expect(await eventually { Self.numbers(await ben.heard.messages) == all })
        #expect(await ben.heard.count(\.isLeft) == 0)
        withExtendedLifetime(deaf) {}
      }
    }

    /// The numbers that chat messages begin with.
    private static func numbers(_ messages: [EventMessage]) -> [Int] {
      messages.compactMap { message in
        guard case .chatMessage(let chat) = message.event else { return nil }
        return chat.text.split(separator: " ").first.flatMap { Int($0) }
      }
    }

    /// The code of an error, nil of a result.
    private static func code(_ text: String) -> Int? {
      guard let range = text.firstRange(of: #""code":"#) else { return nil }
      let digits = text[range.upperBound...].prefix { $0 == "-" || $0.isNumber }
      return Int(String(digits))
    }
  }
}
