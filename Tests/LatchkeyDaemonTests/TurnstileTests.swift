import Foundation
import Synchronization
import Testing

@testable import LatchkeyDaemon

@Suite("What bluetoothd may say ahead of the loop", .timeLimit(.minutes(1)))
struct TurnstileTests {
  /// Enters so often, on a thread of its own, and says each time that it is in.
  private func enter(_ turnstile: Turnstile, times: Int) -> AsyncStream<Int> {
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    Thread {
      for number in 1...times {
        turnstile.enter()
        continuation.yield(number)
      }
      continuation.finish()
    }.start()
    return stream
  }

  @Test("who says more than there is room for waits, in order, and nothing is lost")
  func waits() async {
    let turnstile = Turnstile(limit: 100)
    var numbers: [Int] = []
    for await number in enter(turnstile, times: 5000) {
      numbers.append(number)
      // Nobody leaves before it is full.
      if number >= 100 { turnstile.leave() }
    }
    #expect(numbers == Array(1...5000))
    #expect(turnstile.most == 100)
  }

  @Test("when the loop has ended nobody waits any more")
  func opened() async {
    let turnstile = Turnstile(limit: 3)
    var count = 0
    for await number in enter(turnstile, times: 50) {
      count += 1
      if number == 3 { turnstile.open() }
    }
    #expect(count == 50)
  }
}
