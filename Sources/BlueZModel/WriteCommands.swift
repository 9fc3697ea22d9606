import BlueZ
import BusValue
import TimeTypes

/// Answers to writes without response. bluetoothd answers each as soon as it is queued, and a client that writes one after another is held up
/// by nothing but the time that all of this takes. In a world whose time stands still while anything is to be done, such a client
/// would write for ever at one moment. So after a number of writes, the answers come with the link's next event, in which they go out.
struct WriteCommands: Sendable {
  private var since = Instant.zero
  /// Answered since then.
  private var count = 0
  private var waiting: [PendingCall] = []
  /// When the next answers are due.
  private(set) var deadline: Instant?

  /// More than go out with one event of a link (six to ten of full length).
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

  /// The link is gone. Returns what was not answered; it was queued, and what is queued has succeeded.
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
