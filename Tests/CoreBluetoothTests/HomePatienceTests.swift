import CoreBluetoothTestKit
import Foundation
import Testing

/// An app whose manager has a queue of the test's choice.
private final class Looker: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
  private var central: CBCentralManager?
  private let whenTold: () -> Void

  init(_ queue: DispatchQueue, whenTold: @escaping () -> Void = {}) {
    self.whenTold = whenTold
    super.init()
    central = CBCentralManager(delegate: self, queue: queue)
  }
  func centralManagerDidUpdateState(_ central: CBCentralManager) { whenTold() }
}

@Suite("A home that can't get on", .timeLimit(.minutes(20)))
struct HomePatienceTests {
  private static func wait(_ launch: @escaping @Sendable (SimulatedLaunch) -> AnyObject) async {
    let home = SimulatedHome(seed: 5, patience: 2)
    home.addMachine("phone")
    home.install("org.example.looker", on: "phone", backgroundModes: [], launch: launch)
    home.open("org.example.looker")
    await home.advance(by: .seconds(60))
  }

  @Test("H6: a home whose app has its manager on a queue that is not activated ends the test, and names both")
  func inactiveQueue() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      await HomePatienceTests.wait { _ in Looker(DispatchQueue(label: "asleep", attributes: .initiallyInactive)) }
    }
    let text = errorText(result)
    #expect(text.contains("org.example.looker: the queue \"asleep\" of <CBCentralManager 1> does not run"), "\(text)")
    #expect(text.contains("initiallyInactive"))
  }

  @Test("H6: a home whose app does not return from a delegate call ends the test, and names its manager and queue")
  func stuckCall() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      await HomePatienceTests.wait { _ in
        Looker(DispatchQueue(label: "stuck")) { DispatchSemaphore(value: 0).wait() }
      }
    }
    let text = errorText(result)
    #expect(
      text.contains("a call of the delegate of <CBCentralManager 1> has not returned on the queue \"stuck\""), "\(text)"
    )
  }

  @Test("H6: a home whose app does not return from its launch, or whose queue does not run, ends the test and says so")
  func stuckLaunch() async {
    let launched = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      await HomePatienceTests.wait { _ in
        DispatchSemaphore(value: 0).wait()
        return NSObject()
      }
    }
    #expect(errorText(launched).contains("the launch of org.example.looker has not returned"), "\(errorText(launched))")
    let queued = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      await HomePatienceTests.wait { launch in
        let queue = DispatchQueue(label: "own", attributes: .initiallyInactive)
        launch.wait(for: queue)
        return queue
      }
    }
    #expect(errorText(queued).contains("a queue that the home was asked to wait for does not run, of \"own\""))
  }

  @Test("H6: a home stands still, and ends no test, while others hold all threads for tasks")
  func heldTasks() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      await HomePatienceTests.holdAllThreads(seconds: 8)
      await HomePatienceTests.wait { _ in Looker(DispatchQueue(label: "own")) { Task {} } }
    }
    let text = errorText(result)
    #expect(text.contains("others hold all threads for tasks"), "\(text)")
  }

  /// Returns when a task holds each thread but this one's, or will in a moment, and this one's next.
  private static func holdAllThreads(seconds: Int) async {
    let end = DispatchSemaphore(value: 0)
    let count = ProcessInfo.processInfo.activeProcessorCount
    DispatchQueue(label: "end").asyncAfter(deadline: .now() + .seconds(seconds)) { for _ in 0..<count { end.signal() } }
    for _ in 0..<count {
      Task.detached { hold(until: end) }
    }
  }

  private static func hold(until end: DispatchSemaphore) { end.wait() }

  @Test("H6: a home waits for a hold as long as the test likes, and says what it waits for")
  func heldForLong() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let home = SimulatedHome(seed: 5, patience: 0.1)
      home.addMachine("phone")
      let hold = home.hold()
      DispatchQueue.global().asyncAfter(deadline: .now() + 0.5) { hold.release() }
      await home.advance(by: .seconds(60))
    }
    #expect(errorText(result).contains("1 hold(s) of the test or of an app are not released"))
  }
}
