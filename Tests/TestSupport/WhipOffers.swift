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

/// A line like that, for VP8.
public let vp8Video = ffmpegVideo.replacing("H264/90000", with: "VP8/90000")
  .replacing("a=fmtp:106 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001e\n", with: "")

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

/// What OBS 30 and later offers (libdatachannel): credentials and fingerprint for the whole session, no candidates, and layers named 0, 1
/// and 2.
public func obsOffer(layers: Int, codec: String) -> String {
  let format =
    codec == "AV1"
    ? "profile=0;level-idx=5;tier=0" : "profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1"
  let rids = (0..<layers).map(String.init)
  let simulcast =
    layers > 1 ? rids.map { "a=rid:\($0) send" } + ["a=simulcast:send " + rids.joined(separator: ";")] : []
  let sources =
    layers > 1 ? [] : ["a=ssrc:2815373812 cname:9zl2sU8FJGiq5hDR", "a=ssrc:2815373812 msid:U9vKyKyFmVkPTYyM video"]
  let head = """
    v=0
    o=rtc 3480617838 0 IN IP4 127.0.0.1
    s=-
    t=0 0
    a=group:BUNDLE 0 1
    a=group:LS 0 1
    a=msid-semantic:WMS *
    a=setup:actpass
    a=ice-ufrag:e3Jr
    a=ice-pwd:JrN0dB/2L4lzxM5gJAZhH4
    a=ice-options:ice2,trickle
    a=fingerprint:sha-256 49:9D:F7:89:06:7B:C4:AC:F8:64:66:F7:A8:5F:3F:04:6D:FC:A9:B7:CC:4B:78:C0:42:81:CB:83:99:1A:1C:03
    m=audio 9 UDP/TLS/RTP/SAVPF 111
    c=IN IP4 0.0.0.0
    a=mid:0
    a=sendonly
    a=ssrc:2815373811 cname:9zl2sU8FJGiq5hDR
    a=ssrc:2815373811 msid:U9vKyKyFmVkPTYyM audio
    a=msid:U9vKyKyFmVkPTYyM audio
    a=rtcp-mux
    a=rtpmap:111 opus/48000/2
    a=rtcp-fb:111 nack
    a=fmtp:111 minptime=10;maxaveragebitrate=96000;stereo=1;sprop-stereo=1;useinbandfec=1
    m=video 9 UDP/TLS/RTP/SAVPF 96
    c=IN IP4 0.0.0.0
    a=mid:1
    a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid
    a=extmap:2 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id
    a=sendonly
    a=msid:U9vKyKyFmVkPTYyM video
    a=rtcp-mux
    a=rtpmap:96 \(codec)/90000
    a=rtcp-fb:96 nack
    a=rtcp-fb:96 nack pli
    a=rtcp-fb:96 goog-remb
    a=fmtp:96 \(format)
    """
  return ([head] + sources + simulcast).joined(separator: "\n").replacing("\n", with: "\r\n") + "\r\n"
}
