// Whose a packet is (RFC 8843 §9.2), in this order:
//
//   MID ─▶ RID, repaired RID ─▶ SSRC ─▶ payload type of one line alone ─▶ the one line of it that is silent
//
// What is found by the first two moves an SSRC; what is guessed by the last two never takes a stream that is still sent.

import Basics
import Forwarding
import RTP

extension Tracks {
  /// Silence of a stream after which an SSRC without MID and RID takes its place. Sound in silence sends a packet each 400 ms.
  static let guessSilence = TimeDelta.milliseconds(500)

  /// Finds the encoding of a packet.
  @inline(__always)
  mutating func route(_ arrival: Arrival, _ routes: inout Routes, _ turn: inout Turn) -> IncomingRoute? {
    let known = routes.findIncoming(arrival.view.ssrc)
    if let known, arrival.extensions.rid == nil {
      guard let mid = arrival.extensions.mid,
        known.tag == 0 || IncomingRoute.pack(UnsafeBufferPointer(arrival.bytes).span, mid) != known.tag
      else { return known }
    }
    let placement =
      if let known { Demultiplexer.confirm(known, arrival, &routes, self, at: turn.now) } else {
        Demultiplexer.newRoute(arrival, routes, self, at: turn.now)
      }
    return follow(placement, &routes, &turn)
  }

  /// Gives an SSRC the place that was found for it.
  @inline(never)
  private mutating func follow(
    _ placement: Demultiplexer.Placement, _ routes: inout Routes, _ turn: inout Turn
  ) -> IncomingRoute? {
    switch placement {
    case .none: return nil
    case .known(let route): return route
    case .new(let route, let silence): return adopt(route, into: &routes, silent: silence, &turn) ? route : nil
    case .moved(let route, let old):
      routes.forget(old.ssrc)
      if !old.isRetransmission { encodings[old.encoding].encoding.moved(from: old.ssrc) }
      return adopt(route, into: &routes, &turn) ? route : nil
    }
  }

  /// Whether a stream may have its place: nobody has it, or who has it is silent. Repairs always may.
  fileprivate func admits(_ route: IncomingRoute, silent silence: TimeDelta, at now: Instant) -> Bool {
    route.isRetransmission || encodings[route.encoding].encoding.admits(ssrc: route.ssrc, silent: silence, at: now)
  }

  /// Takes a new SSRC for an encoding. One that takes another's place begins with numbers and a clock of its own, and so
  /// does what receivers are sent of it.
  mutating func adopt(
    _ route: IncomingRoute, into routes: inout Routes, silent silence: TimeDelta = Encoding.takeOverSilence,
    _ turn: inout Turn
  ) -> Bool {
    guard admits(route, silent: silence, at: turn.now), routes.addIncoming(route) else { return false }
    guard !route.isRetransmission, encodings[route.encoding].encoding.follow(ssrc: route.ssrc) else { return true }
    routes.dropRepairs(of: route.encoding, except: encodings[route.encoding].encoding.rtxSSRC)
    encodings[route.encoding].mutedUntil = .min
    let producer = encodings[route.encoding].producer
    turn.restart(route.encoding)
    if producers[producer].kind == .video && !producers[producer].isMuted { wantKeyframe(route.encoding, &turn) }
    return true
  }
}

/// Finds tracks for packets whose SSRC says nothing, or says otherwise than their tags.
enum Demultiplexer {
  /// A line that has a packet's payload type, by its position.
  private struct Place {
    var line: Int
    var isRetransmission: Bool
  }

  /// What a packet is looked for by.
  private struct Tags {
    var mid: Range<Int>?
    var rid: Range<Int>?
    var isRepair: Bool

    init(_ extensions: ParsedExtensions) {
      mid = extensions.mid
      rid = extensions.repairedRid ?? extensions.rid
      isRepair = extensions.repairedRid != nil
    }
  }

  /// What is decided about an SSRC.
  enum Placement {
    /// It has no place.
    case none
    /// It keeps the one that it has.
    case known(IncomingRoute)
    /// It may have this one, where who has it has been silent for so long.
    case new(IncomingRoute, silence: TimeDelta)
    /// It is of another line, or layer, from now on.
    case moved(IncomingRoute, from: IncomingRoute)
  }

  /// An SSRC that is known already bears tags: where these name another line, or layer, it is of that from now on.
  @inline(never)
  static func confirm(
    _ known: IncomingRoute, _ arrival: Arrival, _ routes: inout Routes, _ tracks: borrowing Tracks, at now: Instant
  ) -> Placement {
    let (tags, bytes) = (Tags(arrival.extensions), UnsafeBufferPointer(arrival.bytes))
    if routes.agrees(known.encoding, mid: tags.mid, rid: tags.rid, bytes.span) {
      if let mid = tags.mid { routes.note(IncomingRoute.pack(bytes.span, mid), of: known.ssrc) }
      return .known(known)
    }
    guard
      let named = named(arrival.view, tags, bytes.span, routes, tracks), named.encoding != known.encoding
    else { return .known(known) }
    // Before the old place is given up.
    guard tracks.admits(named, silent: Encoding.takeOverSilence, at: now) else { return .none }
    return .moved(named, from: known)
  }

  /// A place for an SSRC that nobody knows.
  @inline(never)
  static func newRoute(
    _ arrival: Arrival, _ routes: Routes, _ tracks: borrowing Tracks, at now: Instant
  ) -> Placement {
    let (tags, view) = (Tags(arrival.extensions), arrival.view)
    if tags.mid != nil || tags.rid != nil {
      guard let route = named(view, tags, UnsafeBufferPointer(arrival.bytes).span, routes, tracks) else { return .none }
      return .new(route, silence: Encoding.takeOverSilence)
    }
    guard !routes.isRetired(view.ssrc), let route = guess(view, routes, tracks, at: now) else { return .none }
    return .new(route, silence: Tracks.guessSilence)
  }

  /// The place that MID and RID name. Without a MID, a RID that stands on several lines names none.
  private static func named(
    _ view: PacketView, _ tags: Tags, _ bytes: Span<UInt8>, _ routes: Routes, _ tracks: borrowing Tracks
  ) -> IncomingRoute? {
    var found: IncomingRoute?
    for line in routes.lines {
      if let mid = tags.mid, !line.mid.equals(bytes, mid) { continue }
      guard let (_, format) = tracks.producers[line.producer].payloads.codec(view.payloadType) else { continue }
      let place =
        if let rid = tags.rid { line.encodings.first { $0.rid.equals(bytes, rid) } } else {
          line.encodings.first { $0.rid.isEmpty } ?? (line.encodings.count == 1 ? line.encodings.first : nil)
        }
      guard let place else { continue }
      if found != nil { return nil }
      found = IncomingRoute(
        ssrc: view.ssrc, encoding: place.encoding, isRetransmission: format == .retransmission || tags.isRepair,
        counts: IntakeClass(line.kind))
      if tags.mid != nil { break }
    }
    return found
  }

  /// The place of a packet that says nothing but its payload type. Nothing is allocated: a stream that finds none asks with each packet.
  private static func guess(
    _ view: PacketView, _ routes: Routes, _ tracks: borrowing Tracks, at now: Instant
  ) -> IncomingRoute? {
    let since = routes.stray.since
    // All lines that have the payload type, and those of them that have been silent since this stream came.
    var (lines, silent) = (0, 0)
    var (only, quiet) = (Place?.none, Place?.none)
    for index in routes.lines.indices {
      let line = routes.lines[index]
      guard let (_, format) = tracks.producers[line.producer].payloads.codec(view.payloadType) else { continue }
      let place = Place(line: index, isRetransmission: format == .retransmission)
      (lines, only) = (lines + 1, place)
      guard !place.isRetransmission, !hasGoneOn(line, since: since, tracks) else { continue }
      (silent, quiet) = (silent + 1, place)
    }
    // On several lines: where all the others have gone on since this stream came, it is none of theirs.
    if lines > 1 {
      guard silent == 1, routes.stray.ssrc == view.ssrc, now - since >= Tracks.guessSilence else { return nil }
      only = quiet
    }
    guard let only else { return nil }
    let line = routes.lines[only.line]
    guard let encoding = open(line, isRetransmission: only.isRetransmission, tracks, at: now) else { return nil }
    return IncomingRoute(
      ssrc: view.ssrc, encoding: encoding, isRetransmission: only.isRetransmission, counts: IntakeClass(line.kind))
  }

  private static func hasGoneOn(_ line: LineRoute, since: Instant, _ tracks: borrowing Tracks) -> Bool {
    for index in line.encodings.indices
    where tracks.encodings[line.encodings[index].encoding].encoding.hasArrived(since: since) { return true }
    return false
  }

  /// The encoding of a line that may be an unnamed stream's. Of several without names any that is silent will do, for what they are
  /// follows from what they bring; of several with names one alone must be.
  private static func open(
    _ line: LineRoute, isRetransmission: Bool, _ tracks: borrowing Tracks, at now: Instant
  ) -> EncodingID? {
    if line.encodings.count == 1 { return line.encodings.first?.encoding }
    if isRetransmission { return nil }
    var (first, silent) = (Int?.none, 0)
    for (index, row) in line.encodings.enumerated()
    where !tracks.encodings[row.encoding].encoding.hasArrived(since: now - Tracks.guessSilence) {
      (first, silent) = (first ?? index, silent + 1)
    }
    guard let first else { return nil }
    return line.encodings[first].rid.isEmpty || silent == 1 ? line.encodings[first].encoding : nil
  }

  /// Why a packet finds no track, and whether that is to be told. Not of retransmissions, nor of what an ended track goes on sending.
  @inline(never)
  static func stray(
    _ arrival: Arrival, _ routes: inout Routes, _ tracks: borrowing Tracks, at now: Instant
  ) -> StrayStreamReport? {
    let (view, extensions, bytes) = (arrival.view, arrival.extensions, UnsafeBufferPointer(arrival.bytes))
    if routes.isRetired(view.ssrc) { return nil }
    var (lines, isMedia, isNamed) = (0, true, extensions.mid == nil)
    for index in routes.lines.indices {
      let line = routes.lines[index]
      if let mid = extensions.mid, line.mid.equals(bytes.span, mid) { isNamed = true }
      guard let (_, format) = tracks.producers[line.producer].payloads.codec(view.payloadType) else { continue }
      lines += 1
      if format == .retransmission { isMedia = false }
    }
    guard routes.stray.note(view.ssrc, isMedia: isMedia, at: now) else { return nil }
    let isTagged = extensions.mid != nil || extensions.rid != nil
    let cause: StrayCause =
      if !isNamed { .unknownMid } else if lines == 0 { .unknownPayloadType } else if lines > 1 && !isTagged {
        .ambiguous
      } else { .occupied }
    return StrayStreamReport(ssrc: view.ssrc, payloadType: view.payloadType, cause: cause)
  }
}

extension [UInt8] {
  /// Whether a part of a packet is this text.
  func equals(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
    guard range.count == count else { return false }
    for index in indices where bytes[range.lowerBound + index] != self[index] { return false }
    return true
  }
}
