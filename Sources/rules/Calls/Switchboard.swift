// All calls and who is in them: the rules of docs/calls.md, pure. Requests, devices that come and go, media that comes up
// and time go in; effects come out. Each is one step that nothing can come between, so the first command wins.
//
//   request ──▶ a plan (Start · Answering · Leaving …), checked ──▶ committed ─┐
//   devices ──▶ DeviceEvents ──────────────────────────────────────────────────┼─▶ Tables.finish ─▶ effects
//   time    ──▶ Timers ────────────────────────────────────────────────────────┘

import Basics
import RoostProtocol

/// The calls: rules and state, without I/O. It knows nothing of rooms: its owner gives and takes the seats that it names.
public struct Switchboard: Sendable {
  /// All that it knows. Between two steps nothing else is kept.
  var tables: Tables

  /// The rules it was made with.
  public var rules: CallRules { tables.rules }

  /// No calls and no devices.
  public init(rules: CallRules) { tables = Tables(rules: rules) }

  // MARK: - Steps

  /// Serves a request of a device. Whatever could refuse it has been checked when the plan was made.
  mutating func serve(_ plan: some Plan, from device: DeviceID, at now: Now) -> [CallEffect] {
    var step = Step(at: now, by: device)
    plan.commit(&tables, &step)
    return tables.finish(step)
  }

  /// Makes a step that no request asks for.
  mutating func move(_ now: Now, _ body: (inout Tables, inout Step) -> Void) -> [CallEffect] {
    var step = Step(at: now)
    body(&tables, &step)
    return tables.finish(step)
  }

  /// When `poll` has something to do; nil when nothing waits.
  public var nextDeadline: Instant? { tables.calls.timers.next }

  /// Carries out what is due.
  public mutating func poll(at now: Now) -> [CallEffect] {
    move(now) { tables, step in
      while let timer = tables.calls.popDue(at: now.instant) {
        tables.expire(timer, &step)
        tables.settle(&step)
      }
    }
  }

  /// No new call, and what cannot outlive the process ends now: calls that will not be found again, and every ring.
  public mutating func drain(at now: Now) -> [CallEffect] {
    move(now) { tables, step in
      tables.isDraining = true
      for call in tables.calls.inOrder {
        guard tables.rules.keepsCalls, call.outlivesProcess else {
          CallEnd(call.id, .stopped).commit(&tables, &step)
          continue
        }
        for member in call.ringing { Callee(member.user, in: call.id).stopWithProcess(&tables, &step) }
      }
    }
  }
}

/// What a request will do. Making one is the check: it looks at the tables, cannot change them, and throws where the
/// request is refused. Carrying it out cannot fail. So a request that is refused changes nothing.
protocol Plan {
  /// Carries it out, on the tables that it was made for.
  func commit(_ tables: inout Tables, _ step: inout Step)
}

/// A request that was not refused and has nothing to change.
struct Answered: Plan {
  let reply: CallReply

  func commit(_ tables: inout Tables, _ step: inout Step) { step.reply(reply) }
}
