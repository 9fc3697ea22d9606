import AppLink
import BluetoothTypes
import CoreBluetoothTestKit
import Foundation
import Testing

/// An app releases its manager: what becomes of its peripherals and of its restore identifier.
@Suite("Managers that end", .timeLimit(.minutes(20)))
struct ManagerEndTests {
  private static let options = [CBCentralManagerOptionRestoreIdentifierKey: "door"]

  /// Makes its manager anew as soon as it is told a state, as some apps do when Bluetooth is reset.
  private final class Remaker: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
    let calls = Inbox<String>()
    private let queue = DispatchQueue(label: "test")
    private let lock = NSLock()
    private var manager: CBCentralManager?
    private var count = 0

    func make() {
      let made = CBCentralManager(delegate: self, queue: queue, options: ManagerEndTests.options)
      lock.withLock { manager = made }
    }
    func centralManagerDidUpdateState(_ central: CBCentralManager) {
      calls.put("state \(central.state)")
      let isFirst = lock.withLock {
        count += 1
        return count == 1
      }
      guard isFirst else { return }
      lock.withLock { manager = nil }
      make()
    }
    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {}
  }

  /// The next request other than `handled`.
  private func nextCommand(_ system: ScriptedSystem) async throws -> Request {
    while true {
      let request = try await system.requests.next()
      if case .handled = request { continue }
      return request
    }
  }

  @Test("S1: a manager that the app makes anew in a call of the old one's delegate takes its place")
  func remade() async throws {
    let system = ScriptedSystem()
    system.attach()
    let remaker = Remaker()
    system.run { remaker.make() }
    let creation = ManagerCreation(role: .central, restoreIdentifier: "door")
    #expect(try await system.requests.next() == .createManager(Example.manager, creation))
    system.emit(.stateChanged(.resetting))
    #expect(try await remaker.calls.next() == "state resetting")
    #expect(try await nextCommand(system) == .destroyManager(Example.manager))
    #expect(try await nextCommand(system) == .createManager(ManagerIdentifier(2), creation))
    system.emit(.stateChanged(.poweredOn), to: ManagerIdentifier(2))
    #expect(try await remaker.calls.next() == "state poweredOn")
    #expect(system.log.misuses.isEmpty)
  }

  @Test("S1: an event on its way does not keep the restore identifier of a manager that the app has released")
  func eventOnItsWay() async throws {
    let system = ScriptedSystem()
    system.attach()
    let witness = CentralRecorder()
    let other = system.run { CBCentralManager(delegate: witness, queue: DispatchQueue(label: "other")) }
    _ = try await system.requests.next()
    let recorder = CentralRecorder()
    let queue = DispatchQueue(label: "test")
    queue.suspend()
    do {
      let first = system.run { CBCentralManager(delegate: recorder, queue: queue, options: Self.options) }
      _ = try await nextCommand(system)
      system.emit(.stateChanged(.poweredOff), to: ManagerIdentifier(2))
      // Told after that, so that is on the queue now.
      system.emit(.stateChanged(.poweredOff))
      _ = try await witness.calls.next()
      #expect(first.state == .unknown)
    }
    let second = system.run { CBCentralManager(delegate: recorder, queue: queue, options: Self.options) }
    queue.resume()
    #expect(try await nextCommand(system) == .destroyManager(ManagerIdentifier(2)))
    let creation = ManagerCreation(role: .central, restoreIdentifier: "door")
    #expect(try await nextCommand(system) == .createManager(ManagerIdentifier(3), creation))
    system.emit(.stateChanged(.poweredOn), to: ManagerIdentifier(3))
    #expect(try await recorder.calls.next() == "state poweredOn")
    #expect(second.state == .poweredOn)
    #expect(!system.log.misuses.contains { $0.contains("door") })
    withExtendedLifetime(other) {}
  }

  @Test("C3, S14: a peripheral is disconnected when its manager is gone, and a command to it is logged and ignored")
  func orphaned() async throws {
    let system = ScriptedSystem()
    let peripheral: CBPeripheral
    do {
      let setup = try await CentralSetup(system: system)
      peripheral = try await setup.connectExplored()
      #expect(peripheral.state == .connected)
    }
    while true { if case .destroyManager = try await system.requests.next() { break } }
    #expect(peripheral.state == .disconnected)
    #expect(!peripheral.canSendWriteWithoutResponse)
    system.run { peripheral.readRSSI() }
    let misuses = system.log.misuses.filter { $0.contains("readRSSI()") }
    #expect(misuses.count == 1)
    #expect(misuses.first?.contains("CBCentralManager") == true)
  }
}
