// Offers as WHIP clients make them.

/// What FFmpeg 8 (libavformat 62.3) offers for H264 and Opus: it is DTLS server, its SSRCs stand in the SDP, and it has no header
/// extensions and no feedback.
public let ffmpegOffer = whipOffer(lines: [ffmpegAudio, ffmpegVideo])

/// Its line of sound.
public let ffmpegAudio = """
  m=audio 9 UDP/TLS/RTP/SAVPF 111
  c=IN IP4 0.0.0.0
  a=ice-ufrag:5ffa60c9
  a=ice-pwd:c08740dd59be51a08ed2ff4091e072c2
  a=fingerprint:sha-256 49:9D:F7:89:06:7B:C4:AC:F8:64:66:F7:A8:5F:3F:04:6D:FC:A9:B7:CC:4B:78:C0:42:81:CB:83:99:1A:1C:03
  a=setup:passive
  a=mid:0
  a=sendonly
  a=msid:FFmpeg audio
  a=rtcp-mux
  a=rtpmap:111 opus/48000/2
  a=ssrc:3413038706 cname:FFmpeg
  a=ssrc:3413038706 msid:FFmpeg audio
  """

/// Its line of pictures.
public let ffmpegVideo = """
  m=video 9 UDP/TLS/RTP/SAVPF 106
  c=IN IP4 0.0.0.0
  a=ice-ufrag:5ffa60c9
  a=ice-pwd:c08740dd59be51a08ed2ff4091e072c2
  a=fingerprint:sha-256 49:9D:F7:89:06:7B:C4:AC:F8:64:66:F7:A8:5F:3F:04:6D:FC:A9:B7:CC:4B:78:C0:42:81:CB:83:99:1A:1C:03
  a=setup:passive
  a=mid:1
  a=sendonly
  a=msid:FFmpeg video
  a=rtcp-mux
  a=rtcp-rsize
  a=rtpmap:106 H264/90000
  a=fmtp:106 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001e
  a=ssrc:3837942008 cname:FFmpeg
  a=ssrc:3837942008 msid:FFmpeg video
  """

/// An offer with these media lines, bundled, whose mids are `0`, `1` and so on.
public func whipOffer(lines: [String]) -> String {
  let mids = lines.indices.map(String.init).joined(separator: " ")
  let head = """
    v=0
    o=FFmpeg 4489045141692799359 2 IN IP4 127.0.0.1
    s=FFmpegPublishSession
    t=0 0
    a=group:BUNDLE \(mids)
    a=extmap-allow-mixed
    a=msid-semantic: WMS
    """
  return ([head] + lines).joined(separator: "\n").replacing("\n", with: "\r\n") + "\r\n"
}
