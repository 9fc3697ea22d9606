import AppLink
import CoreBluetoothTestKit
import Foundation
import Testing

@Suite("Authorization", .timeLimit(.minutes(20)))
struct AuthorizationTests {
  private func authorizations(_ setup: CentralSetup) -> [Int] {
    setup.system.run { [CBManager.authorization.rawValue, authorizationStatusOfOldCode()] }
  }

  @Test("C1: a manager that is told unauthorized has no peripherals any more, and the app knows why")
  func denied() async throws {
    let setup = try await CentralSetup(restoreIdentifier: "door")
    let peripheral = try await setup.connectExplored(isNotifying: true)
    #expect(authorizations(setup) == [3, 3])
    setup.system.emit(.stateChanged(.unauthorized))
    #expect(try await setup.recorder.calls.next() == "state unauthorized")
    #expect(setup.manager.state == .unauthorized)
    #expect(authorizations(setup) == [2, 2])
    #expect(setup.system.run { CBCentralManager.authorization } == .denied)
    #expect(peripheral.state == .disconnected)
    setup.manager.connect(peripheral)
    #expect(setup.system.log.misuses.contains { $0.contains("connect(_:options:)") })
    setup.system.emit(.stateChanged(.poweredOn))
    #expect(try await setup.recorder.calls.next() == "state poweredOn")
    #expect(authorizations(setup) == [3, 3])
    setup.manager.connect(peripheral)
    #expect(peripheral.state == .connecting)
  }

  @Test("C1: an app that the system does not know is restricted")
  func restricted() async throws {
    let system = ScriptedSystem()
    let recorder = CentralRecorder()
    let manager = system.run { CBCentralManager(delegate: recorder, queue: DispatchQueue(label: "test")) }
    system.refuse(AppLinkError(.unknownApp, "put its Info.plist into the apps folder"))
    #expect(try await recorder.calls.next() == "state unauthorized")
    #expect(system.run { CBManager.authorization } == .restricted)
    withExtendedLifetime(manager) {}
  }

  @Test("C3: a connection that failed leaves the peripheral disconnected")
  func failure() async throws {
    let setup = try await CentralSetup()
    setup.system.answerNextQuery { _ in .success([PeripheralSnapshot(identifier: Example.lock)]) }
    let peripheral = setup.manager.retrievePeripherals(withIdentifiers: [Example.lock.rawValue])[0]
    setup.manager.connect(peripheral)
    #expect(peripheral.state == .connecting)
    setup.system.emit(.failedToConnect(Example.lock, .coreBluetooth(.connectionFailed, message: "no")))
    #expect(try await setup.recorder.calls.next() == "didFailToConnect failed")
    #expect(peripheral.state == .disconnected)
  }
}

/// What code for iOS 12 asks.
private protocol OldCode { func status() -> Int }
private struct OldStatus: OldCode {
  @available(*, deprecated)
  func status() -> Int { CBPeripheralManager.authorizationStatus().rawValue }
}
private func authorizationStatusOfOldCode() -> Int { (OldStatus() as any OldCode).status() }
