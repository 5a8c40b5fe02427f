// Attributes one by one, malformed input with its line, limits, garbage.

import Basics
import SDP
import Testing

private let head = "v=0\no=- 1 2 IN IP4 127.0.0.1\ns=-\nt=0 0\n"
private let video = head + "m=video 9 UDP/TLS/RTP/SAVPF 96 97\n"

/// What the parser says against a text; nil when it takes it.
private func failure(_ text: some Sequence<UInt8>) -> SDPError? {
  do throws(SDPError) {
    _ = try SessionDescription.parse(Array(text))
    return nil
  } catch {
    return error
  }
}

private func line(_ attributes: String) throws(SDPError) -> MediaDescription {
  try SessionDescription.parse(video + attributes).media[0]
}

@Suite struct ParserTests {
  @Test(
    arguments: [
      ("", 0, .missingVersion),
      ("\n\n", 0, .missingVersion),
      ("v=1\n", 1, .missingVersion),
      ("o=- 1 2 IN IP4 127.0.0.1\n", 1, .missingVersion),
      ("v=0\n", 0, .missingOrigin),
      ("v=0\ns=-\n", 2, .missingOrigin),
      (head + "garbage\n", 5, .notALine),
      (head + "=x\n", 5, .notALine),
      (head + "M=video\n", 5, .notALine),
      (head + "a\n", 5, .notALine),
      (head + "a=x\u{0}y\n", 5, .illegalByte),
      (head + "a=x\ry\n", 5, .illegalByte),
      (head + "m=video\n", 5, .malformed("m=")),
      (head + "m=video 65536 RTP/AVP 0\n", 5, .malformed("m=")),
      (head + "m=video 9 RTP/SAVPF\n", 5, .malformed("m=")),
      (head + "m=video 9 RTP/SAVPF 128\n", 5, .malformed("m=")),
      (head + "m=video 9 RTP/SAVPF vp8\n", 5, .malformed("m=")),
      (video + "a=mid:0\na=mid:0\n", 7, .duplicate("a=mid")),
      (video + "a=mid:0\nm=audio 9 RTP/SAVPF 0\na=mid:0\n", 8, .duplicate("a=mid:0")),
      (video + "a=mid:\n", 6, .malformed("a=mid")),
      (video + "a=mid:a b\n", 6, .malformed("a=mid")),
      (video + "a=ice-ufrag:abc\n", 6, .malformed("a=ice-ufrag")),
      (video + "a=ice-ufrag:abcd\u{e9}\n", 6, .malformed("a=ice-ufrag")),
      (video + "a=ice-pwd:short\n", 6, .malformed("a=ice-pwd")),
      (video + "a=setup:maybe\n", 6, .malformed("a=setup")),
      (video + "a=fingerprint:sha-256 00:11\n", 6, .malformed("a=fingerprint")),
      (video + "a=fingerprint:sha-1 0:1:2\n", 6, .malformed("a=fingerprint")),
      (video + "a=fingerprint:sha-256\n", 6, .malformed("a=fingerprint")),
    ] as [(String, Int, SDPError.Reason)])
  func refuses(text: String, line: Int, reason: SDPError.Reason) {
    #expect(failure(text.utf8) == SDPError(line: line, reason: reason))
    #expect(failure(text.replacing("\n", with: "\r\n").utf8) == SDPError(line: line, reason: reason))
  }

  /// What browsers pass over is passed over, and told of.
  @Test(
    arguments: [
      ("v=0\no=- x 2 IN IP4 127.0.0.1\n", 2, "o="),
      ("v=0\no=- 1 99999999999999999999 IN IP4 127.0.0.1\n", 2, "o="),
      ("v=0\no=- 1 2 IN IP4\n", 2, "o="),
      ("v=0\no=- -1 2 IN IP4 ::\n", 2, "o="),
      (head + "v=0\n", 5, "v="),
      (head + "o=- 1 2 IN IP4 1.1.1.1\n", 5, "o="),
      (head + "c=IN IP5 x\n", 5, "c="),
      (head + "b=AS:x\n", 5, "b="),
      (head + "a=\n", 5, "a="),
      (head + "a=:x\n", 5, "a="),
      (head + "a=a b\n", 5, "a="),
      (head + "m=video 9 RTP/SAVPF 96 96\n", 5, "m="),
      (video + "a=rtpmap:96\n", 6, "a=rtpmap"),
      (video + "a=rtpmap:96 VP8\n", 6, "a=rtpmap"),
      (video + "a=rtpmap:96 VP8/0\n", 6, "a=rtpmap"),
      (video + "a=rtpmap:96 VP8/90000/x\n", 6, "a=rtpmap"),
      (video + "a=rtpmap:300 VP8/90000\n", 6, "a=rtpmap"),
      (video + "a=rtpmap:-1 VP8/90000\n", 6, "a=rtpmap"),
      (video + "a=fmtp:x apt=96\n", 6, "a=fmtp"),
      (video + "a=rtcp-fb:96\n", 6, "a=rtcp-fb"),
      (video + "a=extmap:0 urn:x\n", 6, "a=extmap"),
      (video + "a=extmap:256 urn:x\n", 6, "a=extmap"),
      (video + "a=extmap:1\n", 6, "a=extmap"),
      (video + "a=extmap:1/up urn:x\n", 6, "a=extmap"),
      (video + "a=ssrc:x cname:y\n", 6, "a=ssrc"),
      (video + "a=ssrc:4294967296 cname:y\n", 6, "a=ssrc"),
      (video + "a=ssrc-group:FID 1 x\n", 6, "a=ssrc-group"),
      (video + "a=rid:l sideways\n", 6, "a=rid"),
      (video + "a=rid:l! send\n", 6, "a=rid"),
      (video + "a=rid:l send pt=200\n", 6, "a=rid"),
      (video + "a=rid:l send\na=rid:l send\n", 7, "a=rid"),
      (video + "a=simulcast:send\n", 6, "a=simulcast"),
      (video + "a=simulcast:send l;;h\n", 6, "a=simulcast"),
      (video + "a=simulcast:send l send h\n", 6, "a=simulcast"),
      (video + "a=simulcast:send l\na=simulcast:send l\n", 7, "a=simulcast"),
      (video + "a=msid:\n", 6, "a=msid"),
      (head + "a=group:\n", 5, "a=group"),
      (video.replacing("96 97", with: "96 x 97 200"), 5, "m="),
      (head + "a=RTPMAP\n" + "a=\t\n", 6, "a="),
    ] as [(String, Int, String)])
  func passesOver(text: String, line: Int, name: String) throws {
    for text in [text, text.replacing("\n", with: "\r\n"), text.replacing("\n", with: " \t\n\n")] {
      let description = try SessionDescription.parse(text)
      let lines = description.passedOver.lines
      #expect(lines.map(\.name) == [name])
      if !text.contains("\t") { #expect(lines.map(\.number) == [line]) }
      #expect(lines.first?.media == (text.contains("m=") ? 0 : nil))
      // It leaves nothing behind, and nothing that could be written and not read.
      #expect(try SessionDescription.parse(description.serialized()).passedOver.lines.isEmpty)
    }
  }

  @Test func whatIsPassedOverIsToldOfWithinBounds() throws {
    let description = try SessionDescription.parse(video + String(repeating: "a=extmap:0 urn:x\n", count: 1_000))
    #expect(description.passedOver.lines.count == SDPLimits.passedOver)
  }

  /// Both ways to write a word, and blanks at the end of lines.
  @Test func caseAndBlanksDoNotMatter() throws {
    let line = try line("a=setup:ACTPASS  \na=rtcp-mux \na=mid:0\t\na=sendonly \n")
    #expect(line.transport.setup == .actpass && line.transport.rtcpMux && line.mid == "0")
    #expect(line.direction == .sendOnly)
  }

  @Test func errorsAreSentences() {
    #expect(SDPError(line: 12, reason: .malformed("a=rtpmap")).description == "line 12: malformed a=rtpmap")
    #expect(SDPError(line: 0, reason: .tooLarge).description == "larger than 393216 bytes")
  }

  @Test func toleratesWhatItNeedNotKnow() throws {
    let parsed = try SessionDescription.parse(
      "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns= \r\nz=0 0\r\na=x-flag\r\na=x:y:z\r\n\r\n"
        + "m=video 49170/2 RTP/SAVPF 96\r\nk=clear:x\r\na=candidate:broken\r\na=fingerprint:md5 00\r\n"
        + "a=rtpmap:50 nobody/90000\r\na=fmtp:50 x=y\r\na=rtcp-fb:50 nack")
    #expect(parsed.otherAttributes == [Attribute("x-flag"), Attribute("x", "y:z")])
    #expect(parsed.media[0].port == 49170)
    #expect(parsed.media[0].otherAttributes.map(\.name) == ["candidate", "fingerprint"])
    #expect(parsed.media[0].rtp.codecs == [Codec(96, "", 0)])
  }

  @Test func refusesBytesThatAreNotUTF8() {
    let bytes = Array((head + "a=x:").utf8) + [0xff, 0x0a]
    #expect(failure(bytes) == SDPError(line: 5, reason: .illegalByte))
  }

  @Test func limits() throws {
    func reason(_ text: String) -> SDPError.Reason? { failure(text.utf8)?.reason }
    let section = "m=audio 9 RTP/SAVPF 0\n"
    #expect(reason(head + String(repeating: section, count: 256)) == nil)
    #expect(reason(head + String(repeating: section, count: 257)) == .tooManyMediaSections)
    #expect(reason(video + String(repeating: "a=x\n", count: 1024)) == nil)
    #expect(reason(video + String(repeating: "a=x\n", count: 1025)) == .tooManyAttributes)
    #expect(reason(video + (1...128).map { "a=ssrc:\($0) cname:x\n" }.joined()) == nil)
    #expect(reason(video + (1...129).map { "a=ssrc:\($0) cname:x\n" }.joined()) == .tooManyAttributes)
    #expect(reason(video + "a=x:" + String(repeating: "y", count: 8188) + "\n") == nil)
    #expect(reason(video + "a=x:" + String(repeating: "y", count: 8189) + "\n") == .lineTooLong)
    // Lines of 1,024 bytes, and the rest.
    func whole(_ bytes: Int) -> String {
      let line = "a=x:" + String(repeating: "y", count: 1_019) + "\n"
      let text = video + String(repeating: line, count: (bytes - video.utf8.count - 6) / 1_024)
      return text + "a=x:" + String(repeating: "y", count: bytes - text.utf8.count - 5) + "\n"
    }
    #expect(whole(384 * 1024).utf8.count == 393_216)
    #expect(reason(whole(384 * 1024)) == nil)
    #expect(reason(whole(384 * 1024 + 1)) == .tooLarge)
  }
}

@Suite struct AttributeTests {
  @Test func simulcastWithAlternativesAndPausedLayers() throws {
    let streams = try line("a=rid:a send\na=rid:b send pt=96,97;max-width=320;depend\na=simulcast:recv x send a,~b;c\n")
      .streams
    let b = try #require(streams.rids.last)
    #expect(b.payloadTypes == [96, 97])
    #expect(b.restrictions == [Attribute("max-width", "320"), Attribute("depend")])
    #expect(streams.simulcast?.receive == [[.init(rid: "x")]])
    #expect(streams.simulcast?.send == [[.init(rid: "a"), .init(rid: "b", isPaused: true)], [.init(rid: "c")]])
  }

  @Test func formatParameters() throws {
    let media = try line("a=fmtp:97 apt=96; Foo = bar ;flag\na=rtpmap:97 RTX/90000\na=fmtp:97 late=1\n")
    let codec = try #require(media.rtp.codec(payloadType: 97))
    #expect(codec.isRTX && codec.associatedPayloadType == 96)
    #expect(codec.format["foo"] == "bar" && codec.format["flag"] == "" && codec.format["late"] == "1")
    #expect(codec.format["fo"] == nil)
  }

  @Test func feedbackForAllCodecs() throws {
    let rtp = try line("a=rtcp-fb:* nack\na=rtcp-fb:96 nack\na=rtcp-fb:96 ccm fir\n").rtp
    #expect(rtp.feedback(of: rtp.codecs[0]) == [.nack, .fir])
    #expect(rtp.feedback(of: rtp.codecs[1]) == [.nack])
  }

  @Test func headerExtensions() throws {
    let extensions = try line("a=extmap:1/recvonly urn:x vad=on\na=extmap:255 urn:y\na=extmap:4096 urn:z\n").rtp
      .extensions
    #expect(extensions[0] == HeaderExtension(id: 1, uri: "urn:x", direction: .receiveOnly, attributes: "vad=on"))
    #expect(extensions.map(\.id) == [1, 255, 4096])
  }

  @Test func sourcesGather() throws {
    let sources = try line("a=ssrc:1 cname:c\na=ssrc:2 cname:c\na=ssrc:1 msid:s t\na=ssrc:3\n").streams.sources
    #expect(sources.map(\.ssrc) == [1, 2, 3])
    #expect(sources[0].attributes == [Attribute("cname", "c"), Attribute("msid", "s t")])
    #expect(sources[2].attributes.isEmpty)
  }

  @Test func fingerprintsWriteAsTheyRead() throws {
    let bytes = (0..<20).map { UInt8($0 * 13) }
    let fingerprint = try #require(CertificateFingerprint(algorithm: .sha1, bytes: bytes))
    #expect(
      try line("a=fingerprint:" + fingerprint.description.lowercased() + "\n").transport.fingerprints == [fingerprint])
    #expect(fingerprint.description.hasPrefix("sha-1 00:0D:1A:"))
  }

  @Test func directionFallsBackToTheSession() throws {
    let parsed = try SessionDescription.parse(
      head + "a=recvonly\nm=audio 9 RTP/SAVPF 0\nm=audio 9 RTP/SAVPF 0\na=inactive\n")
    #expect(parsed.media.map { parsed.direction(of: $0) } == [.receiveOnly, .inactive])
    let silent = try SessionDescription.parse(head + "m=audio 9 RTP/SAVPF 0\n")
    #expect(silent.direction(of: silent.media[0]) == .sendReceive)
  }

  @Test func credentialsFallBackTogether() throws {
    let parsed = try SessionDescription.parse(
      head + "a=ice-ufrag:sess\na=ice-pwd:sessionsessionsession12\na=setup:active\nm=audio 9 RTP/SAVPF 0\n"
        + "m=audio 9 RTP/SAVPF 0\na=ice-ufrag:line\n")
    #expect(parsed.transport(of: parsed.media[0]).icePwd == "sessionsessionsession12")
    let second = parsed.transport(of: parsed.media[1])
    #expect(second.iceUfrag == "line" && second.icePwd == nil && second.setup == .active)
  }
}
