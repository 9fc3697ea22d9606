import BlueZ
import BusValue
import TimeTypes

/// Answers to writes without response. bluetoothd answers each write as soon as it is queued, so only the time that
/// this takes holds up a client that writes one value after another. In a simulated world, time stands still while
/// anything is to be done, so such a client would write for ever at one moment. So after `limit` writes, the answers
/// wait for the link's next event, in which the writes go out.
struct WriteCommands: Sendable {
  private var since = Instant.zero
  /// How many writes were answered since then.
  private var count = 0
  private var waiting: [PendingCall] = []
  /// When the next answers are due.
  private(set) var deadline: Instant?

  /// More writes than go out in one event of a link (six to ten of full length).
  static let limit = 32

  /// Returns whether the write is answered at once. Otherwise it waits.
  mutating func answersNow(_ call: PendingCall, interval: Duration, at now: Instant) -> Bool {
    if deadline == nil, now >= since + interval { (since, count) = (now, 0) }
    guard deadline != nil || count >= Self.limit else {
      count += 1
      return true
    }
    waiting.append(call)
    deadline = deadline ?? since + interval
    return false
  }

  /// The next link event. Returns the calls to answer.
  mutating func takeDue(interval: Duration, at now: Instant) -> [PendingCall] {
    let due = Array(waiting.prefix(Self.limit))
    waiting.removeFirst(due.count)
    (since, count) = (now, due.count)
    deadline = waiting.isEmpty ? nil : now + interval
    return due
  }

  /// The link is gone. Returns the calls that are not answered yet. Their writes were queued, which counts as success.
  mutating func takeAll() -> [PendingCall] {
    defer { (waiting, deadline) = ([], nil) }
    return waiting
  }
}

extension BlueZModel {
  /// A write was queued on the link.
  mutating func answerWriteCommand(_ call: PendingCall, on identifier: Link.Identifier) {
    let interval = configuration.connectionInterval
    guard links[identifier]?.commands.answersNow(call, interval: interval, at: now) != false else { return }
    reply(to: call, .success(.none))
  }

  mutating func writeCommandsDue(_ identifier: Link.Identifier) {
    for call in links[identifier]?.commands.takeDue(interval: configuration.connectionInterval, at: now) ?? [] {
      reply(to: call, .success(.none))
    }
  }
}
