import CoreBluetoothTestKit
import Foundation
import Testing

/// What the system has gone on with while the app was dead is there in `willRestoreState` already.
@Suite("What goes on at a restoration", .timeLimit(.minutes(20)))
struct RestoredActivityTests {
  @Test("S2 S10: a restored scan goes on, and isScanning says so in willRestoreState and after")
  func scan() async throws {
    let home = SimulatedHome(seed: 3)
    home.addMachine("phone", x: 2)
    home.install("org.example.seeker", on: "phone", backgroundModes: ["bluetooth-central"]) { _ in
      Probe("FFE0", identifier: "seeker") { probe in
        probe.whenRestored = { probe, central, state in
          let options = state[CBCentralManagerRestoredStateScanOptionsKey] as? [String: Any]
          let duplicates = options?[CBCentralManagerScanOptionAllowDuplicatesKey] as? Bool
          probe.note("restored \(central.isScanning), duplicates \(duplicates.map { "\($0)" } ?? "unknown")")
        }
        probe.whenOn = { probe, central in
          probe.note("on \(central.isScanning)")
          if !central.isScanning { central.scanForPeripherals(withServices: [CBUUID(string: "FFE0")]) }
        }
      }
    }
    home.open("org.example.seeker")
    await home.advance(by: .seconds(5))
    let first = try #require(home.app("org.example.seeker") as? Probe)
    #expect(first.notes == ["on false"])
    home.kill("org.example.seeker")
    home.addPeripheral("sensor", services: [SimulatedService("FFE0", [SimulatedCharacteristic("FFE1", [.notify])])])
    #expect(await home.nextCall("didDiscover", to: "org.example.seeker", within: .seconds(120)) != nil)
    let second = try #require(home.app("org.example.seeker") as? Probe)
    #expect(
      second.notes == ["restored true, duplicates false", "on true"],
      "\(home.transcript(of: "org.example.seeker"))")
  }

  @Test("S5 S10: a restored advertisement goes on, and isAdvertising says so in willRestoreState")
  func advertisement() async throws {
    let home = SimulatedHome(seed: 3)
    home.addMachine("beacon", x: 2)
    home.install("org.example.station", on: "beacon", backgroundModes: ["bluetooth-peripheral"], keepAlive: true) { _ in
      Station(identifier: "station") { station in
        station.whenRestored = { station, manager, _ in station.note("restored \(manager.isAdvertising)") }
      }
    }
    await home.advance(by: .seconds(5))
    home.kill("org.example.station")
    #expect(await home.nextCall("willRestoreState", to: "org.example.station", within: .seconds(120)) != nil)
    await home.advance(by: .seconds(5))
    let station = try #require(home.app("org.example.station") as? Station)
    #expect(station.notes == ["restored true"])
    #expect(station.manager?.isAdvertising == true)
    home.setBluetooth("beacon", isOn: false)
    await home.advance(by: .seconds(5))
    #expect(station.manager?.isAdvertising == false)
  }

  @Test("What the test itself has caused is the next call, however soon the app was told", .timeLimit(.minutes(1)))
  func caused() async throws {
    let home = SimulatedHome(seed: 3)
    home.addMachine("beacon", x: 2)
    home.install("org.example.station", on: "beacon", backgroundModes: ["bluetooth-peripheral"], keepAlive: true) { _ in
      Station(identifier: "station")
    }
    await home.advance(by: .seconds(5))
    home.kill("org.example.station")
    while !home.calls(to: "org.example.station").contains(where: { $0.method == "willRestoreState" }) {
      await Task.yield()
    }
    #expect(await home.nextCall("willRestoreState", to: "org.example.station", within: .seconds(120)) != nil)
    #expect(await home.nextCall("willRestoreState", to: "org.example.station", within: .seconds(120)) == nil)
  }

  @Test("C6: what a subscriber's link carries is known again after bluetoothd's death")
  func subscriber() async throws {
    let home = SimulatedHome(seed: 3)
    home.addMachine("beacon", x: 2)
    home.addMachine("phone")
    home.install("org.example.station", on: "beacon", backgroundModes: ["bluetooth-peripheral"], keepAlive: true) { _ in
      Station(identifier: "station")
    }
    home.install("org.example.watcher", on: "phone", backgroundModes: ["bluetooth-central"]) { _ in Probe("FFE0") }
    home.open("org.example.watcher")
    func lengths() throws -> [Int] {
      let station = try #require(home.app("org.example.station") as? Station)
      return station.characteristics.flatMap { $0.subscribedCentrals ?? [] }.map(\.maximumUpdateValueLength)
    }
    #expect(await home.nextCall("didSubscribeTo", to: "org.example.station", within: .seconds(60)) != nil)
    await home.advance(by: .seconds(10))
    let before = try lengths()
    #expect(before == [512])
    home.addMachine("tablet", x: 1)
    home.install("org.example.newcomer", on: "tablet", backgroundModes: ["bluetooth-central"]) { _ in Probe("FFE0") }
    for machine in ["beacon", "phone"] {
      home.restartBluetoothd(machine, killed: true)
      #expect(await home.nextCall("didSubscribeTo", to: "org.example.station", within: .seconds(60)) != nil)
      await home.advance(by: .seconds(10))
      #expect(try lengths() == before, "\(machine): \(home.transcript(of: "org.example.station"))")
    }
    home.restartBluetoothd("beacon", killed: true)
    home.open("org.example.newcomer")
    await home.advance(by: .seconds(30))
    #expect(try lengths() == [512, 512], "\(home.transcript(of: "org.example.station"))")
  }
}
