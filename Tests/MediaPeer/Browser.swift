// The SDP side of a client, built by hand.

import Basics
import SDP
import TestSupport

/// The client's end of a peer connection.
package struct Browser {
  package var ufrag = "clnt"
  package var fingerprint = CertificateFingerprint.filled(with: 0x11)
  package var lines: [MediaDescription] = []

  /// One without a line.
  package init() {}

  package var transport: TransportAttributes {
    TransportAttributes(
      credentials: ICECredentials(ufrag: ufrag, password: "clientclientclientclient1"), fingerprint: fingerprint,
      setup: .actpass)
  }

  package mutating func audio(_ mid: String) { lines.append(.audio(mid: mid, .sendOnly, transport, [.opus(111)])) }

  package mutating func video(_ mid: String, codecs: [Codec] = Codec.video(96, "VP8", rtx: 97)) {
    lines.append(.video(mid: mid, .sendOnly, transport, codecs))
  }

  /// A track with layers, told apart by RID.
  package mutating func simulcast(_ mid: String, _ rids: [String]) {
    video(mid)
    let line = lines.count - 1
    lines[line].rtp.extensions = [
      HeaderExtension(id: 4, uri: "urn:ietf:params:rtp-hdrext:sdes:mid"),
      HeaderExtension(id: 10, uri: "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"),
    ]
    lines[line].streams.rids = rids.map { RestrictionID(id: $0, sends: true) }
    lines[line].streams.simulcast = Simulcast(send: rids.map { [Simulcast.Alternative(rid: $0)] })
  }

  package var offer: String {
    var description = SessionDescription(origin: Origin(sessionID: 5))
    for line in lines {
      var line = line
      if !line.isRejected { line.transport = transport }
      description.add(line)
    }
    return description.serialized()
  }

  /// The answer as browsers make it, bent by `bend`.
  package func answer(_ offer: String, _ bend: (inout MediaDescription, Int) -> Void = { _, _ in }) throws -> String {
    var answer = SessionDescription(origin: Origin(sessionID: 6))
    for (index, offered) in try SessionDescription.parse(offer).media.enumerated() {
      var line = offered.isRejected ? .rejection(of: offered) : offered
      line.streams = StreamAttributes()
      if !offered.isRejected {
        line.direction = offered.direction?.reversed
        line.transport = transport
        line.transport.setup = .active
      }
      bend(&line, index)
      answer.add(line)
    }
    return answer.serialized()
  }
}
