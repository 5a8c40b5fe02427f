// Devices that are connected and wait, by the thousand: WebSockets with a session each, on one thread with epoll. They answer
// pings, come back when they are lost, and some of them call each other: start, ring, reject.

import Basics
import SyntheticParticipant
import Threads

/// Which devices, and where they go.
public struct FleetPlan: Sendable {
  /// How many.
  public var count: Int
  /// The server's port of 127.0.0.1.
  public var port: UInt16
  /// Whether they speak TLS.
  public var isTLS: Bool
  /// Tells the users of this run from others.
  public var run: String
  /// Connections that are on their way at a time.
  public var atOnce = 512
  /// How long a call may take until it counts as failed.
  public var patience = TimeDelta.seconds(10)

  /// `count` devices of a user each, at 127.0.0.1.
  public init(count: Int, port: UInt16, isTLS: Bool = false, run: String) {
    (self.count, self.port, self.isTLS, self.run) = (count, port, isTLS, run)
  }
}

/// What devices have seen so far.
public struct FleetFigures: Sendable {
  /// Have a session at the moment.
  public var ready = 0
  /// When the latest device came to its session.
  public var lastReadyAt = Instant.zero
  /// Connections with a session that were lost.
  public var lost = 0
  /// Attempts that came to nothing.
  public var refused = 0
  /// Sessions that were taken up again.
  public var resumed = 0
  /// Sessions that the server did not know any more.
  public var begunAnew = 0
  /// Pings that were answered.
  public var pings = 0
  /// Replies and events that came.
  public var messages = 0
  /// Calls sent.
  public var callsStarted = 0
  /// Calls that rang, were rejected, and ended for both.
  public var callsEnded = 0
  /// Calls that went otherwise.
  public var callsFailed = 0
  /// From `call.start` to `call.incoming`.
  public var ringDelay = LatencyHistogram()
  /// How much later than planned calls were sent.
  public var lateness = LatencyHistogram()
  /// CPU time of the devices' own thread.
  public var threadTime = TimeDelta.zero
  /// Calls that have begun and not ended.
  public var callsUnderWay: Int { callsStarted - callsEnded - callsFailed }
  /// The first few things that went wrong.
  public var problems: [String] = []

  mutating func note(_ problem: String) { if problems.count < 20 { problems.append(problem) } }
}

/// The devices, and their thread.
public final class DeviceFleet: Sendable {
  enum Command: Sendable {
    case call(perSecond: Double)
    case stop
  }

  private let mailbox = Mailbox<Command>()
  private let published = Locked(FleetFigures())
  private let thread = Locked<OwnerThread?>(nil)

  /// Begins to connect them. They go on until they have their sessions, and come back when they lose them.
  public init(_ plan: FleetPlan) {
    let (mailbox, published) = (mailbox, published)
    let owner = OwnerThread(name: "devices") {
      var loop = FleetLoop(plan, mailbox: mailbox, published: published)
      loop.run()
    }
    thread.withLock { $0 = owner }
  }

  /// What they have seen, as of a twentieth of a second ago.
  public var figures: FleetFigures { published.withLock { $0 } }

  /// From now on so many calls a second are started; 0 ends that, and what has begun goes on.
  public func call(perSecond: Double) { mailbox.post(.call(perSecond: perSecond)) }

  /// Closes all connections and ends the thread.
  public func stop() {
    mailbox.post(.stop)
    thread.withLock { $0 }?.join()
  }
}
