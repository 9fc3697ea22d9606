import BlueZ
import Testing
import TimeTypes

@testable import BlueZModel

/// How soon writes without response are answered.
@Suite("Writes without response") struct WriteCommandTests {
  private static let interval = Duration.milliseconds(30)
  private static func call(_ number: Int) -> PendingCall {
    PendingCall(client: ClientIdentifier(":1.1"), call: CallIdentifier(UInt64(number)))
  }

  @Test("C5: a client that writes on and on at one moment is answered as the link's events pass, in order")
  func flood() {
    var commands = WriteCommands()
    var now = Instant.zero
    var atOnce: [Int] = []
    for number in 0..<100 where commands.answersNow(Self.call(number), interval: Self.interval, at: now) {
      atOnce.append(number)
    }
    #expect(atOnce == Array(0..<WriteCommands.limit))
    var answered: [UInt64] = []
    while let deadline = commands.deadline {
      #expect(deadline == now + Self.interval)
      now = deadline
      let due = commands.takeDue(interval: Self.interval, at: now)
      #expect((1...WriteCommands.limit).contains(due.count))
      answered += due.map(\.call.rawValue)
    }
    #expect(answered == (UInt64(WriteCommands.limit)..<100).map { $0 })
  }

  @Test("C5: writes that have time between them are answered at once") func calm() {
    var commands = WriteCommands()
    for number in 0..<200 {
      let now = Instant.zero + .milliseconds(number)
      let isAnswered = commands.answersNow(Self.call(number), interval: Self.interval, at: now)
      #expect(isAnswered)
    }
    #expect(commands.deadline == nil)
  }

  @Test("C5: what waits when the link is lost was queued, and is answered then") func lost() {
    var commands = WriteCommands()
    for number in 0..<100 { _ = commands.answersNow(Self.call(number), interval: Self.interval, at: .zero) }
    let left = commands.takeAll()
    #expect(left.count == 100 - WriteCommands.limit)
    #expect(commands.deadline == nil)
  }
}
