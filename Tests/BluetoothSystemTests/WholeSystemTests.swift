import AppLink
import BlueZ
import BlueZModel
import BluetoothTypes
import ProcessTesting
import Radio
import Testing
import TimeTypes

@testable import BluetoothSystem

@Suite("The whole system in one process", .serialized, .ownThread)
struct WholeSystemTests {
  private func away(_ house: inout House) { house.command(.move(machine: "phone", x: 5000, y: 0)) }
  private func home(_ house: inout House) { house.command(.move(machine: "phone", x: 1, y: 0)) }

  @Test("C1–C6: discovered, connected, bonded, subscribed, and the offer is answered")
  func firstMeeting() {
    var house = House(seed: 1)
    house.pass(.seconds(60))
    #expect(house.isConnected)
    #expect(house.unlocks == 1)
    #expect(house.complaints.isEmpty, "\(house.complaints)")
  }

  @Test("L3: days away, everything dies in turn, and the door opens once on coming home")
  func daysAway() {
    var house = House(seed: 2)
    house.pass(.seconds(60))
    house.control("phone", .leaveApp(bundleIdentifier: House.bundle))
    away(&house)
    house.pass(.seconds(600))
    #expect(!house.isConnected)
    house.killApp("phone")
    house.pass(.seconds(86400))
    house.killSystem("phone")
    house.pass(.seconds(86400))
    house.command(.restartBluetoothd(machine: "phone", killed: true))
    house.pass(.seconds(86400))
    house.command(.plug(machine: "phone", isOn: false))
    house.pass(.seconds(60))
    house.command(.plug(machine: "phone", isOn: true))
    house.pass(.seconds(86400))
    house.reboot("phone")
    house.pass(.seconds(43200))
    house.killApp("door")
    house.pass(.seconds(43200))
    #expect(house.unlocks == 1)
    let launches = house.phone?.launches
    #expect(launches == [.opened])
    home(&house)
    house.pass(.seconds(60))
    #expect(house.phone?.launches == [.opened, .restore])
    #expect(house.phone?.app.told.suffix(20).contains("willRestoreState") == true)
    #expect(house.isConnected)
    #expect(house.unlocks == 2)
    #expect(house.complaints.isEmpty, "\(house.complaints)")
  }

  /// Half an hour to two hours of faults, in an order determined by the seed.
  static func story(_ seed: Int, isRecorded: Bool = false, eachStep: (House) -> Void = { _ in }) -> House {
    var house = House(seed: UInt64(seed), isRecorded: isRecorded)
    var random = SplitMix64(state: UInt64(seed) &* 7919)
    house.pass(.seconds(60))
    house.control("phone", .leaveApp(bundleIdentifier: House.bundle))
    house.control("door", .leaveApp(bundleIdentifier: House.bundle))
    for _ in 0..<25 {
      let fault = Int(random.next() % 13)
      switch fault {
      case 0: house.killApp("phone")
      case 1: house.killApp("door")
      case 2: house.killSystem("phone")
      case 3: house.killSystem("door")
      case 4: house.command(.restartBluetoothd(machine: "phone", killed: random.next() % 2 == 0))
      case 5: house.command(.restartBluetoothd(machine: "door", killed: random.next() % 2 == 0))
      case 6:
        house.command(.plug(machine: "phone", isOn: false))
        house.pass(.milliseconds(Int64(random.next() % 20_000)))
        house.command(.plug(machine: "phone", isOn: true))
      case 7:
        house.command(.block(machine: "phone", isOn: true))
        house.pass(.milliseconds(Int64(random.next() % 20_000)))
        house.command(.block(machine: "phone", isOn: false))
      case 8, 9: house.command(.move(machine: "phone", x: 5000, y: 0))
      case 10, 11: house.command(.move(machine: "phone", x: 1, y: 0))
      default: house.reboot("phone")
      }
      house.pass(.milliseconds(Int64(random.next() % (random.next() % 2 == 0 ? 500 : 600_000))))
      eachStep(house)
    }
    return house
  }

  @Test("Invariants hold under any order of faults, and in the end the door opens", arguments: 1...40)
  func anyOrder(seed: Int) {
    var house = Self.story(seed)
    away(&house)
    house.pass(.seconds(300))
    let before = house.unlocks
    home(&house)
    house.pass(.seconds(300))
    let isConnected = house.isConnected
    let unlocks = house.unlocks - before
    let complaints = house.complaints
    #expect(isConnected, "seed \(seed)")
    #expect(unlocks == 1, "seed \(seed)")
    #expect(complaints.isEmpty, "seed \(seed)")
  }
}
