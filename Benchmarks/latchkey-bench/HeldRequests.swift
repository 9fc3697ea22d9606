import AppLink
import BlueZ
import BluetoothSystem
import BluetoothTypes
import Foundation
import Glibc
import TimeTypes
import Worlds

/// What the decisions about many connection requests of one app cost, without latchkeyd around them: memory for each
/// request, and the time from the start to the app's restoration.
enum HeldRequests {
  struct Figures {
    var seconds: Double
    var bytesPerRequest: Double
    var restored: Int
  }

  private static let app = "org.example.collector"

  static func measure(_ count: Int) throws -> Figures {
    let stored = records(count)
    let before = try ProcessFigures(pid: getpid()).residentKiB
    let clock = ContinuousClock()
    var system: BluetoothSystem?
    var restored = 0
    let took = clock.measure {
      var started = BluetoothSystem(
        configuration: .init(), apps: [AppDeclaration(bundleIdentifier: app, backgroundModes: ["bluetooth-central"])],
        stored: stored, seed: 1)
      let link = AppLinkIdentifier(1)
      let process = ProcessIdentity(processIdentifier: 100)
      let creation = ManagerCreation(role: .central, restoreIdentifier: "many")
      let events: [BluetoothSystem.Event] = [
        .started,
        .daemon(.appeared([WellKnown.firstAdapter: [InterfaceName.adapter: ["Powered": .bool(true)]]])),
        .control(.openApp(bundleIdentifier: app), AnswerToken(1)), .appLaunched(app, process),
        .attach(link, process, Attachment(bundleIdentifier: app), AnswerToken(2)),
        .request(link, .createManager(ManagerIdentifier(1), creation)),
      ]
      for event in events {
        for effect in started.handle(event, at: .zero) {
          if case .event(let event, _) = effect, case .willRestoreCentral(let restoration) = event.body {
            restored = restoration.peripherals.count
          }
        }
      }
      system = started
    }
    let after = try ProcessFigures(pid: getpid()).residentKiB
    return withExtendedLifetime(system) {
      Figures(
        seconds: Double(took.components.seconds) + Double(took.components.attoseconds) / 1e18,
        bytesPerRequest: Double(after - before) * 1024 / Double(count), restored: restored)
    }
  }

  private static func records(_ count: Int) -> StoredState {
    let manager = ManagerKey(app: app, role: .central, restoreIdentifier: "many")
    var records: [StoredRecord] = [.manager(ManagerRecord(key: manager))]
    for number in 0..<count {
      let peer = PeerIdentifier(UUID())
      let address = DeviceAddress(bits: 0x001B_DC00_0000 + UInt64(number), kind: .public)
      records.append(.peer(PeerRecord(identifier: peer, address: address, wasRequested: true)))
      records.append(
        .peripheral(PeripheralRecord(manager: manager, peer: peer, isWanted: true, told: .connecting)))
    }
    return StoredState(records)
  }
}
