import CoreBluetoothTestKit
import Foundation
import Testing

/// An app as iOS code is written: it makes its manager, assigns it to a property, and uses the property in the delegate.
/// Between these two it takes its time.
private final class Assigner: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
  private let lock = NSLock()
  private var central: CBCentralManager?
  private var readiness: [Bool] = []
  private let wasTold = DispatchSemaphore(value: 0)
  /// Whether the property had the manager, for each call of the delegate.
  var wasReady: [Bool] { lock.withLock { readiness } }
  private(set) var hasWaitedInVain = false

  /// - Parameter patience: how long to wait for the delegate's call before the assignment, in seconds of the computer's time.
  func begin(patience: Double) {
    let made = CBCentralManager(delegate: self, queue: DispatchQueue(label: "assigner"))
    hasWaitedInVain = wasTold.wait(timeout: .now() + patience) == .timedOut
    lock.withLock { central = made }
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    lock.withLock { readiness.append(self.central === central) }
    wasTold.signal()
  }
}

/// When an app is told something that it has just asked for, and when what it lets go of has its effect.
@Suite("An app's objects begin and end", .timeLimit(.minutes(20)))
struct AssignmentTests {
  private static let app = "org.example.app"

  private func home(_ launch: @escaping @Sendable () -> AnyObject) -> SimulatedHome {
    let home = SimulatedHome(seed: 8)
    home.addMachine("phone", x: 3)
    home.install(Self.app, on: "phone", backgroundModes: []) { _ in launch() }
    home.open(Self.app)
    return home
  }

  @Test("C1: the state of a manager that is made in the launch comes after the launch")
  func launch() async throws {
    let home = home {
      let assigner = Assigner()
      assigner.begin(patience: 0.2)
      return assigner
    }
    await home.advance(by: .seconds(5))
    #expect(try #require(home.app(Self.app) as? Assigner).wasReady == [true])
  }

  @Test("C1: the state of a manager that the test has the app make comes after that call")
  func run() async throws {
    let home = home { Assigner() }
    await home.advance(by: .seconds(5))
    let assigner = try #require(home.app(Self.app) as? Assigner)
    home.run(as: Self.app) { assigner.begin(patience: 0.2) }
    await home.advance(by: .seconds(5))
    #expect(assigner.wasReady == [true])
  }

  @Test("C1: a launch that waits for its manager's state in its thread has it")
  func waitingLaunch() async throws {
    let home = home {
      let assigner = Assigner()
      assigner.begin(patience: 60)
      return assigner
    }
    await home.advance(by: .seconds(5))
    #expect(try #require(home.app(Self.app) as? Assigner).hasWaitedInVain == false)
  }

  @Test("C3: the link of a manager that an alarm releases ends at once, before time passes")
  func released() async throws {
    let home = home { Probe("180D") }
    let strap = home.addPeripheral(
      "strap", services: [SimulatedService("180D", [SimulatedCharacteristic("2A37", .notify)])])
    await home.advance(by: .seconds(60)) { strap.subscriberCount(of: "2A37") == 1 }
    for _ in 0..<10 {
      let probe = try #require(home.app(Self.app) as? Probe)
      home.clock.after(.seconds(1)) { home.run(as: Self.app) { probe.letGo() } }
      await home.advance(by: .seconds(6))
      #expect(strap.subscriberCount(of: "2A37") == 0)
      home.kill(Self.app)
      home.open(Self.app)
      await home.advance(by: .seconds(60)) { strap.subscriberCount(of: "2A37") == 1 }
    }
  }
}
