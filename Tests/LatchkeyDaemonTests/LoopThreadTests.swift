import Foundation
import Synchronization
import Testing

@testable import LatchkeyDaemon

@Suite("The loop's thread")
struct LoopThreadTests {
  private static func waitForAnotherThread() async {
    await withCheckedContinuation { continuation in Thread.detachNewThread { continuation.resume() } }
  }

  @Test("H3: a rest follows work, once; what little the watchdog needs is not followed by one")
  func rests() throws {
    let (rested, continuation) = AsyncStream.makeStream(of: Void.self)
    let count = Mutex(0)
    let thread = LoopThread(restAfterSeconds: 0) {
      count.withLock { $0 += 1 }
      continuation.yield()
    }
    try thread.run {
      for _ in 0..<LoopThread.jobsBeforeRest { await Task.yield() }
      for await _ in rested { break }
      for _ in 0..<4 { await Self.waitForAnotherThread() }
    }
    #expect(count.withLock { $0 } == 1)
  }
}
