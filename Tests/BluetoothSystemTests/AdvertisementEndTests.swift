import AppLink
import BluetoothTypes
import Testing
import TimeTypes

@testable import BluetoothSystem

@Suite("The end of an advertisement")
struct AdvertisementEndTests {
  private static let sender = "org.example.sender"

  enum End: CaseIterable {
    case managerReleased, appQuit
    /// While the app is not running.
    case bluetoothSwitchedOff
  }

  @Test("C6: what an app advertises ends with its manager", arguments: End.allCases)
  func ends(_ end: End) {
    var air = Air()
    air.add("desk", apps: [Air.app(Self.sender, modes: ["peripheral"])])
    let request = AdvertisementRequest(localName: "Thermometer", serviceUUIDs: [BluetoothUUID(UInt16(0x1809))])
    air.advertise(request, Self.sender, on: "desk")
    air.pass(.seconds(1))
    #expect(air.onAir("desk").count == 1)
    switch end {
    case .managerReleased: air.say(.destroyManager(Air.peripheral), Self.sender, on: "desk")
    case .appQuit: air.control("desk", .quitApp(bundleIdentifier: Self.sender))
    case .bluetoothSwitchedOff:
      air.leave(Self.sender, on: "desk")
      air.pass(.seconds(60))
      air.kill(Self.sender, on: "desk")
      air.pass(.seconds(1))
      #expect(air.onAir("desk").count == 1, "its advertisement outlives its process")
      air.control("desk", .setBluetooth(on: false))
      air.pass(.seconds(1))
      air.control("desk", .setBluetooth(on: true))
    }
    air.pass(.seconds(5))
    #expect(air.onAir("desk").isEmpty)
  }
}
