// What became of events, on its way to the thread of the record file.

import Basics
import Names
import Storage
import Webhooks

/// What the thread that tells says of what it was handed.
enum EventNews: Sendable {
  /// What the file has to know.
  case change(EventChange)
  /// What was not taken, and waits on disk.
  case returned(Realm, ReturnedLane)
}

/// There is always space for it: no more comes than was handed out, which is `EventWindow.most` of each realm. Events that found no space on
/// their way to the disk are among it as one number a realm.
final class EventInbox: Sendable {
  private struct Content: Sendable {
    var news: [EventNews] = []
    var missed: [Realm: Int64] = [:]
  }

  private let content = Locked(Content())

  /// True for the first since the last `takeAll`.
  func add(_ news: EventNews) -> Bool {
    content.withLock { content in
      content.news.append(news)
      return content.news.count == 1
    }
  }

  /// An event has found no space.
  func miss(in realm: Realm) { content.withLock { $0.missed[realm, default: 0] += 1 } }

  /// What has come since the last call, what was missed first.
  func takeAll() -> [EventNews] {
    let taken = content.withLock { content in
      defer { content = Content() }
      return content
    }
    return taken.missed.map { .change(.missed($0.key, $0.value)) } + taken.news
  }
}
