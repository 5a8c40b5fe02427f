// Why a packet was not forwarded. Dropping is ordinary and counted, never thrown.

/// Reasons for dropping a packet, in the order of its way through the server. The raw value indexes `DropCounters`.
public enum DropReason: UInt8, Sendable, CaseIterable {
  /// First byte of no protocol we speak (RFC 7983).
  case unknownProtocol
  /// Not from an address that any transport has validated.
  case unknownSource
  /// STUN that failed parsing or authentication, or from a path that is another transport's.
  case badSTUN
  /// More checks with the right password than a peer may send.
  case tooManyChecks
  /// DTLS before ICE validated the address, or over the bounds before the handshake is done.
  case unexpectedDTLS
  /// More DTLS than a peer whose handshake is done may send.
  case tooManyRecords
  /// Media before the handshake was finished and the fingerprint checked.
  case notReady
  /// More than the peer may send.
  case overBitrate
  /// Malformed RTP or RTCP.
  case malformed
  /// The authentication tag was wrong.
  case authentication
  /// Seen before, or older than the replay window.
  case replayed
  /// No producer claims the SSRC, MID or RID.
  case unknownStream
  /// A payload type that was not agreed on.
  case unknownPayloadType
  /// RTX that repairs nothing: probing padding, or a packet that came after all.
  case uselessRetransmission
  /// Arrived again after having been forwarded or given up.
  case duplicate
  /// Arrived after it had been restored from a later packet.
  case restoredBefore
  /// Nothing but padding.
  case padding
  /// The track is muted.
  case muted
  /// Others in the room are louder, or nobody speaks, and the room hears the loudest alone.
  case notLoudest
  /// Nobody subscribes to the track on this worker; a tap or a pipe may have been given a copy.
  case noConsumer
  /// The subscriber paused the subscription.
  case paused
  /// Another simulcast layer than the consumer is sent.
  case otherLayer
  /// A temporal or spatial layer of the encoding above those that the consumer is sent.
  case upperLayer
  /// Video before a keyframe from which the receiver could start.
  case awaitingKeyframe
  /// From before the consumer's stream began.
  case beforeStart
  /// The subscriber did not accept the codec that is being sent.
  case codecNotAccepted
  /// The subscriber's transport is not up.
  case transportDown
  /// RTCP that asks for more packets or keyframes than one peer may in a second.
  case tooManyRequests
  /// Asked for again, but no longer in the cache.
  case notInCache
  /// Asked for again by a subscriber that agreed on no RTX stream.
  case noRetransmissionStream
  /// Asked for again more often than a subscriber may.
  case retransmissionLimit
  /// The worker is behind, and the room has had its share of what can be sent.
  case roomOverShare
  /// Asked for again before the last repeat can have arrived.
  case repeatedTooSoon
  /// Waited too long for its receiver's line.
  case congested
  /// Came when too much had been sent behind it, to a subscriber that agreed on no RTX stream.
  case tooLate
  /// Larger than a datagram may be after rewriting.
  case tooLarge
  /// A queue of the worker, or the operating system's, was full.
  case sendQueueFull
  /// A tap or a pipe had no room for a copy; what receivers are sent is untouched.
  case backlogFull
  /// The operating system had no room for what came, or its checksum was wrong.
  case receiveQueueFull
  /// The operating system refused to send.
  case sendFailed
  /// Not sealed: its number is further behind the newest than the replay window reaches.
  case sealTooOld
  /// Not sealed: its number was used before.
  case sealReplayed
  /// Not sealed: the key has sealed as many packets as it may, or the transport has more streams than it may.
  case sealExhausted
  /// Not sealed: the cryptographic library failed, or the packet was not well-formed.
  case sealFailed

  /// The name in metrics: `awaiting_keyframe`.
  public var metricName: String {
    var name = ""
    var previousIsUpper = false
    for character in String(describing: self) {
      if character.isUppercase && !previousIsUpper { name += "_" }
      name += character.lowercased()
      previousIsUpper = character.isUppercase
    }
    return name
  }
}

/// How many packets were dropped for each reason.
public struct DropCounters: Sendable {
  private var counts = InlineArray<48, UInt64>(repeating: 0)

  /// Reasons that there may be.
  var places: Int { counts.count }

  /// All zero.
  public init() {}

  /// Counts one dropped packet.
  @inlinable public mutating func count(_ reason: DropReason) { self[reason] &+= 1 }

  /// Adds what somebody else has counted.
  public mutating func add(_ other: DropCounters) {
    for index in counts.indices { counts[index] &+= other.counts[index] }
  }

  /// Packets dropped for `reason`.
  public subscript(reason: DropReason) -> UInt64 {
    get { counts[Int(reason.rawValue)] }
    set { counts[Int(reason.rawValue)] = newValue }
  }
}
