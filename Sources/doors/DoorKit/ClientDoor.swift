// What the process knows of a front door: what it brings, and how it is told what concerns its connections. No more is asked of a new one.
import Basics
import Logging
import Members
import RoostProtocol
import WebSockets

/// A way in for clients. It makes the `ConnectionID`s of its connections with its own id, and its sessions belong to one thread.
///
///     final class ToyDoor: ClientDoor { … }
///     let server = try RoostServer(configuration, log: log, doors: RoostServer.doors + [ToyDoor.maker(block)])
public protocol ClientDoor: DoorSessions {
  /// Its place among the front doors of the process.
  var id: DoorID { get }
  /// The thread of its web server.
  var thread: DoorThread { get }
  /// A web server of its own; nil where it is at the server of the page.
  var listener: DoorListener? { get }
  /// What it answers at its web server.
  var routes: [HTTPRoute] { get }
  /// What it has counted. Asked for on any thread.
  var metrics: [Metric] { get }

  /// Posts an effect that concerns one of its connections. Called in the effects' order, on one thread; it waits for no session.
  func carryOut(_ effect: ClientEffect)
  /// Has it end what has had its time. Called every second or so, on any thread; it waits for no session.
  func closeIdle()
  /// Takes its web server, and gives what hears of WebSockets there; nil where they are another door's. One door a server hears of them.
  func serve(_ sender: WebSocketSender) -> (@Sendable (WebSocketEvent) -> Void)?
}

extension ClientDoor {
  /// None.
  public var listener: DoorListener? { nil }
  /// None.
  public var routes: [HTTPRoute] { [] }
  /// None.
  public var metrics: [Metric] { [] }

  /// Takes the server, and hears of no WebSockets.
  public func serve(_ sender: WebSocketSender) -> (@Sendable (WebSocketEvent) -> Void)? {
    thread.attach(sender)
    return nil
  }

  /// Posts it to the door's thread.
  public func carryOut(_ effect: ClientEffect) { thread.post(effect, to: self) }

  /// Posts the wish to the door's thread.
  public func closeIdle() { thread.keepHouse(of: self) }
}

/// A web server that a door has for itself.
public struct DoorListener: Sendable {
  /// The name of its block in the configuration, and of the listener in metrics.
  public var name: String
  /// Where and how it listens.
  public var server: WebServerConfiguration

  /// A server under this name.
  public init(_ name: String, _ server: WebServerConfiguration) { (self.name, self.server) = (name, server) }
}

/// What all doors are made with.
public struct DoorSurroundings: Sendable {
  /// The door's place among the front doors of the process.
  public var id: DoorID
  /// Where lines go.
  public var log: Logger
  /// Where lines go about those who have a session.
  public var lines: SessionLines
  /// Finds out whose token is shown.
  public var tokens: TokenGate
  /// Whether a request from an address is to be refused for now; asked for each of them, once.
  public var isOverloaded: @Sendable (SocketAddress?) -> Bool
  /// Takes commands for the conference. It does not wait.
  public var sink: @Sendable (Command) -> Void

  /// All of it.
  public init(
    id: DoorID, log: Logger, lines: SessionLines, tokens: TokenGate,
    isOverloaded: @escaping @Sendable (SocketAddress?) -> Bool, sink: @escaping @Sendable (Command) -> Void
  ) {
    (self.id, self.log, self.lines, self.tokens) = (id, log, lines, tokens)
    (self.isOverloaded, self.sink) = (isOverloaded, sink)
  }
}
