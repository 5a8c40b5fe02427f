// What comes behind what: actions of a session about the same room or call are served in the order in which they came, and those about a seat
// that is yet to be come behind what gives it.

import Calls
import Members
import RoostProtocol

/// What an action of a session is about: those about the same are served in order.
enum Matter: Hashable, Sendable {
  /// A room that is no call's.
  case room(String)
  /// A call.
  case call(String)
  /// A call that is to be.
  case newCall
  /// A media connection of a seat.
  case connection(MediaConnectionID, of: SeatID)

  /// The room of this name, or the call whose room it is.
  init(roomName name: String) { self = CallRoom.isName(name) ? .call(CallRoom.callId(name)) : .room(name) }
}

/// Behind what an action has to come.
enum Order: Sendable {
  /// Nothing. It is about nothing that others may be about, or about what its session has already.
  case free
  /// What is about the same.
  case about(Matter)
  /// What may give its session a seat, which it needs and has not.
  case seat
  /// What may bring it into a call, which it needs and is not in.
  case call
  /// The request for the stream that it ends, wherever that waits.
  case end(MediaConnectionID, of: SeatID?)
}

/// Where what has waited is to be done, and nowhere else.
enum Aim: Sendable {
  /// Where it says itself.
  case anywhere
  /// On this seat: its session had it.
  case on(SeatID)
  /// On the seat that comes of this: its session had none, or was in no call.
  case seat(of: Matter)

  init(_ order: Order, behind matter: Matter) {
    switch (order, matter) {
    case (.seat, _), (.call, _): self = .seat(of: matter)
    case (.about, .connection(_, let seat)): self = .on(seat)
    case (.about, _), (.end, _), (.free, _): self = .anywhere
    }
  }

  /// Whether it may be done by one who has this seat, and had that one before the first of the queue went on.
  func allows(_ seat: SeatID?, before: SeatID?) -> Bool {
    switch self {
    case .anywhere: true
    case .on(let wanted): seat == wanted
    case .seat: seat != nil && seat != before
    }
  }
}

extension Order {
  /// As things stand for who wants it.
  init(_ action: Action, _ core: ConferenceCore) {
    guard case .session(let key) = action.who else {
      self = .free
      return
    }
    let place = core.sessions.place(of: key.session)
    switch action.wish {
    case .request(let request, _): self.init(request, key, place, core.calls)
    case .stream(.close(let stream)): self = .end(stream, of: place?.seat)
    case .stream(let request): self.init(on: request.connection, place)
    case .hello, .token, .operate: self = .free
    }
  }

  private init(on connection: MediaConnectionID, _ place: MemberPlace?) {
    self = place.map { .about(.connection(connection, of: $0.seat)) } ?? .seat
  }

  private init(_ request: Request, _ key: RequestKey, _ place: MemberPlace?, _ calls: Switchboard) {
    switch request {
    case .room, .chat:
      self = request.roomName.map { .about(Matter(roomName: $0)) } ?? .free
    case .message(.send(let params)):
      self = .about(params.callId.map { .call($0) } ?? Matter(roomName: params.room ?? ""))
    case .message(.request(let params)):
      self = .about(params.callId.map { .call($0) } ?? Matter(roomName: params.room ?? ""))
    // It names what somebody on a seat was asked already.
    case .message(.answer): self = .free
    case .peerConnection(.offer(let params)) where params.pc == .publish: self.init(on: .publish, place)
    case .peerConnection(.offer), .peerConnection(.restart), .subscription(.subscribe), .view(.open):
      self = place == nil ? .seat : .free
    // They name what is on a seat already.
    case .peerConnection(.answer), .track, .subscription, .view: self = .free
    case .call(let request): self.init(request, from: key.device, calls)
    case .session, .userQuery, .block: self = .free
    }
    // Nobody stays where they are for the sake of what they have asked for there.
    if request.leavesPlace, case .about(let matter) = self, let place, Matter(roomName: place.room) == matter {
      self = .free
    }
  }

  private init(_ request: CallRequest, from device: DeviceID, _ calls: Switchboard) {
    switch request {
    case .start(let params):
      self = .about(calls.entered(by: params, from: device).map { .call($0.text) } ?? .newCall)
    case .ringing(let params), .get(let params), .end(let params): self = .about(.call(params.callId))
    case .accept(let params): self = .about(.call(params.callId))
    case .reject(let params): self = .about(.call(params.callId))
    case .cancel(let params): self = .about(.call(params.callId))
    case .invite(let params): self = .about(.call(params.callId))
    case .cancelInvite(let params): self = .about(.call(params.callId))
    case .join(let params): self = .about(.call(params.callId))
    // Without a name it is the one that one is in.
    case .hangup(let params): self.init(call: params.callId, from: device, calls)
    case .mediaChange(let params): self.init(call: params.callId, from: device, calls)
    case .current, .available, .history: self = .free
    }
  }

  private init(call name: String?, from device: DeviceID, _ calls: Switchboard) {
    if let name { self = .about(.call(name)) } else { self = calls.hasLeg(device) ? .free : .call }
  }

  /// As what it keeps others waiting while it is asked about; nil: it never is.
  var matter: Matter? { if case .about(let matter) = self { matter } else { nil } }
}

extension Request {
  /// Whether it leaves the room or the call that it names.
  fileprivate var leavesPlace: Bool {
    switch self {
    case .room(.leave), .call(.hangup), .call(.cancel), .call(.end): true
    case .session, .userQuery, .block, .room, .chat, .message, .peerConnection, .track, .subscription, .view, .call:
      false
    }
  }
}

extension StreamRequest {
  fileprivate var connection: MediaConnectionID {
    switch self {
    case .publish(let connection, _), .play(let connection, _, _, _), .show(let connection, _),
      .close(let connection):
      connection
    }
  }
}

extension Action.Wish {
  /// The stream that it is about; nil where it is about none.
  var stream: MediaConnectionID? { if case .stream(let request) = self { request.connection } else { nil } }

  /// The room or the call whose seat it wants; nil where it names none.
  var place: Matter? {
    switch self {
    case .request(.room(.join(let params)), _): .room(params.room)
    case .request(.call(.accept(let params)), _): .call(params.callId)
    case .request(.call(.join(let params)), _): .call(params.callId)
    case .request, .stream, .hello, .token, .operate: nil
    }
  }

  /// Whether it may bring its session into a call.
  var givesCall: Bool {
    switch self {
    case .request(.call(.start), _), .request(.call(.accept), _), .request(.call(.join), _): true
    case .request, .stream, .hello, .token, .operate: false
    }
  }

  /// Whether a seat may come of it.
  var givesSeat: Bool { givesCall || place != nil }

  /// Whether it only ends something: no bound keeps its session where it does not want to be.
  var endsSomething: Bool {
    switch self {
    case .request(let request, _): request.endsSomething
    case .stream(.close): true
    case .stream, .hello, .token, .operate: false
    }
  }

  /// About how many bytes it takes to keep.
  var bytesToKeep: Int {
    switch self {
    case .request(let request, _): request.bytesToKeep
    case .stream(.publish(_, let params)): Request.peerConnection(.offer(params)).bytesToKeep
    case .stream(.play(_, let tracks, _, let sdp)): tracks.reduce(sdp.utf8.count) { $0 + $1.utf8.count }
    case .stream(.show(_, let tracks)): tracks.reduce(0) { $0 + $1.utf8.count }
    case .stream(.close), .hello, .token, .operate: 0
    }
  }
}

extension Request {
  /// As many as its JSON has. What cannot be written counts as a whole message.
  fileprivate var bytesToKeep: Int {
    (try? ClientFrame.encode(self, id: .number(0)).count) ?? ProtocolLimits.messageBytes
  }
}
