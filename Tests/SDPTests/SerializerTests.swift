// Writing: the exact text of a small offer made with the builder, and no way to forge lines.

import Basics
@testable import SDP
import TestSupport
import Testing

@Suite struct SerializerTests {
  private static let fingerprint = CertificateFingerprint.filled(with: 0xab)

  @Test func builtOffer() throws {
    var offer = SessionDescription(origin: Origin(sessionID: 42))
    let transport = TransportAttributes(
      credentials: ICECredentials(ufrag: "abcd", password: "0123456789012345678901"), fingerprint: Self.fingerprint,
      setup: .actpass)
    offer.add(.audio(mid: "0", .sendOnly, transport, [.opus(111)]))
    var video = MediaDescription.video(mid: "1", .sendOnly, transport, Codec.video(96, "VP8", rtx: 97))
    video.declare(ssrc: 1, rtx: 2, cname: "c")
    video.rtp.extensions = [HeaderExtension(id: 4, uri: "urn:ietf:params:rtp-hdrext:sdes:mid")]
    video.streams.msids = [MediaStreamID(stream: "s", track: "t")]
    offer.add(video)
    let digest = Array(repeating: "AB", count: 32).joined(separator: ":")
    let common =
      "a=ice-ufrag:abcd\na=ice-pwd:0123456789012345678901\na=fingerprint:sha-256 \(digest)\na=setup:actpass\na=rtcp-mux\n"
    let expected =
      "v=0\no=- 42 1 IN IP4 127.0.0.1\ns=-\nt=0 0\na=group:BUNDLE 0 1\n"
      + "m=audio 9 UDP/TLS/RTP/SAVPF 111\nc=IN IP4 0.0.0.0\n\(common)a=mid:0\na=sendonly\na=rtcp-rsize\n"
      + "a=rtpmap:111 opus/48000/2\na=fmtp:111 minptime=10;useinbandfec=1\n"
      + "m=video 9 UDP/TLS/RTP/SAVPF 96 97\nc=IN IP4 0.0.0.0\n\(common)a=mid:1\n"
      + "a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid\na=sendonly\na=msid:s t\na=rtcp-rsize\n"
      + "a=rtpmap:96 VP8/90000\na=rtcp-fb:96 transport-cc\na=rtcp-fb:96 ccm fir\na=rtcp-fb:96 nack\n"
      + "a=rtcp-fb:96 nack pli\na=rtpmap:97 rtx/90000\na=fmtp:97 apt=96\na=ssrc-group:FID 1 2\n"
      + "a=ssrc:1 cname:c\na=ssrc:2 cname:c\n"
    #expect(offer.serialized() == expected.replacing("\n", with: "\r\n"))
    #expect(try SessionDescription.parse(offer.serialized()) == offer)
  }

  @Test func rejectionLeavesTheBundle() {
    var answer = SessionDescription(origin: Origin(sessionID: 1))
    let offered = MediaDescription.video(mid: "0", .sendOnly, TransportAttributes(), Codec.video(96, "VP8", rtx: 97))
    answer.add(.rejection(of: offered))
    #expect(answer.groups.isEmpty)
    #expect(answer.serialized().contains("m=video 0 UDP/TLS/RTP/SAVPF 96\r\n"))
    #expect(answer.media[0].isRejected)
  }

  @Test func valuesCannotForgeLines() throws {
    var description = SessionDescription(origin: Origin(sessionID: 1))
    var line = MediaDescription(.audio, mid: "0\r\n", direction: .sendOnly)
    line.rtp.codecs = [.opus(111)]
    line.streams.msids = [MediaStreamID(stream: "s\r\na=candidate:1 1 udp 1 127.0.0.1 9 typ host")]
    line.otherAttributes = [Attribute("x", "y\nm=video 9 RTP/SAVPF 96\u{0}")]
    description.media = [line]
    let parsed = try SessionDescription.parse(description.serialized())
    #expect(parsed.media.count == 1)
    #expect(parsed.media[0].transport.candidates.isEmpty)
    #expect(parsed.media[0].otherAttributes == [Attribute("x", "ym=video 9 RTP/SAVPF 96")])
  }

  /// What many descriptions say is text already, and is that text only as long as it is what they say.
  @Test func writtenLinesAreThoseThatWouldBeWritten() throws {
    var line = MediaDescription.video(mid: "0", .sendOnly, TransportAttributes(), Codec.video(96, "VP8", rtx: 97))
    line.rtp.extensions = [HeaderExtension(id: 4, uri: "urn:ietf:params:rtp-hdrext:sdes:mid")]
    func text(_ line: MediaDescription) -> String {
      var description = SessionDescription(origin: Origin(sessionID: 1))
      description.add(line)
      return description.serialized()
    }
    var written = line
    written.rtp = line.rtp.written()
    #expect(written == line && text(written) == text(line) && text(line).contains("a=rtpmap:97 rtx/90000"))
    #expect(written.rtp.codecLines.text?.isEmpty == false && written.rtp.extensionLines.text?.isEmpty == false)
    written.rtp.codecs.removeLast()
    written.rtp.extensions = []
    #expect(written != line && !text(written).contains("rtx") && !text(written).contains("extmap:"))
  }
}
