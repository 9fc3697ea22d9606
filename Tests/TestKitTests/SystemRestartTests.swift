import CoreBluetoothTestKit
import Foundation
import Testing

/// An app that makes its manager when the test says so.
private final class LateStarter: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
  private let lock = NSLock()
  private var made: CBCentralManager?
  private var told = CBManagerState.unknown
  /// What its delegate was told last.
  var state: CBManagerState { lock.withLock { told } }

  func begin() {
    let manager = CBCentralManager(delegate: self, queue: DispatchQueue(label: "late starter"))
    lock.withLock { made = manager }
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) { lock.withLock { told = central.state } }
}

/// What an app and the system say to each other at the moment when the system restarts.
@Suite("A system that restarts while its apps are busy", .timeLimit(.minutes(20)))
struct SystemRestartTests {
  private static let app = "org.example.late"

  private func home() async -> SimulatedHome {
    let home = SimulatedHome(seed: 6)
    home.addMachine("phone")
    home.install(Self.app, on: "phone", backgroundModes: [], keepAlive: true) { _ in LateStarter() }
    await home.advance(by: .seconds(10))
    return home
  }

  @Test("S8: a manager that is made while the system restarts is made once, and told its state")
  func managerMade() async throws {
    let home = await home()
    let app = try #require(home.app(Self.app) as? LateStarter)
    // On the home's thread, so that the system restarts before it takes what the app has sent.
    home.clock.after(.seconds(1)) {
      home.run(as: Self.app) { app.begin() }
      home.restartSystem("phone")
    }
    await home.advance(by: .seconds(60))
    #expect(app.state == .poweredOn)
    #expect(home.log(of: Self.app).misuses.isEmpty, "\(home.log(of: Self.app).misuses)")
  }

  @Test("S8: an app hears what the system tells it after a restart, whatever was on its way before")
  func eventOnItsWay() async throws {
    let home = await home()
    let app = try #require(home.app(Self.app) as? LateStarter)
    home.run(as: Self.app) { app.begin() }
    for round in 0..<40 {
      await home.advance(by: .seconds(10))
      try #require(app.state == .poweredOn, "round \(round)")
      home.clock.after(.seconds(1)) {
        home.allow(Self.app, false)
        home.restartSystem("phone")
        home.allow(Self.app, true)
      }
    }
  }
}
