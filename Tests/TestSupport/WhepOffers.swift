// Offers as WHEP players make them.

/// What a player offers that takes Opus, VP8 and H264, as a page of a Chromium does, with the lines that matter.
public let playerOffer = whepOffer(audio: true, video: ["VP8", "H264"])

/// A player's offer with a line of sound or without one, and with one of pictures in these codecs, or none.
public func whepOffer(audio: Bool, video: [String], direction: String = "recvonly") -> String {
  let common = """
    c=IN IP4 0.0.0.0
    a=ice-ufrag:zjkk
    a=ice-pwd:bPXJMM09aR8AiX1jdukzR6Y5
    a=fingerprint:sha-256 49:9D:F7:89:06:7B:C4:AC:F8:64:66:F7:A8:5F:3F:04:6D:FC:A9:B7:CC:4B:78:C0:42:81:CB:83:99:1A:1C:03
    a=setup:actpass
    a=\(direction)
    a=rtcp-mux
    a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
    """
  var lines: [String] = []
  if audio {
    lines.append("m=audio 9 UDP/TLS/RTP/SAVPF 111\n\(common)\na=mid:0\na=rtpmap:111 opus/48000/2")
  }
  if !video.isEmpty {
    let types = video.indices.map { "\(96 + $0)" }.joined(separator: " ")
    let codecs = video.enumerated().map { index, codec in
      let fmtp = codec == "H264" ? "\na=fmtp:\(96 + index) packetization-mode=1;profile-level-id=42e01f" : ""
      return "a=rtpmap:\(96 + index) \(codec)/90000\(fmtp)\na=rtcp-fb:\(96 + index) nack pli"
    }
    lines.append(
      "m=video 9 UDP/TLS/RTP/SAVPF \(types)\n\(common)\na=mid:\(lines.count)\n\(codecs.joined(separator: "\n"))")
  }
  return whipOffer(lines: lines)
}
