import AppLink
import BluetoothTypes
import Testing

/// More services than an advertisement has room for.
@Suite("The room in an advertisement")
struct AdvertisementRoomTests {
  private static let app = "org.example.sender"
  private static func long(_ number: UInt64) -> BluetoothUUID {
    BluetoothUUID(high: 0x1A2B_3C4D_0000_4000, low: 0x8000_0000_0000_0000 + number)
  }
  private static func short(_ numbers: ClosedRange<UInt16>) -> [BluetoothUUID] { numbers.map { BluetoothUUID($0) } }

  @Test(
    "C6: services that have no room in the advertisement are left out, and the rest is advertised",
    arguments: [
      ([long(1), long(2)], [long(1)]),
      ([long(1)] + short(0xFFE0...0xFFE4), [long(1)] + short(0xFFE0...0xFFE3)),
      (short(0xFFE0...0xFFEF), short(0xFFE0...0xFFEC)),
      (short(0xFFE0...0xFFE5) + [long(1)], short(0xFFE0...0xFFE5)),
      ([long(1), long(1), long(2)] + short(0xFFE0...0xFFE0), [long(1)] + short(0xFFE0...0xFFE0)),
      ([BluetoothUUID(UInt32(0x1234_5678)), long(1), long(2)], [BluetoothUUID(UInt32(0x1234_5678)), long(1)]),
    ])
  func many(_ wanted: [BluetoothUUID], _ advertised: [BluetoothUUID]) throws {
    var air = Air()
    air.add("desk", apps: [Air.app(Self.app, modes: ["peripheral"])])
    air.advertise(AdvertisementRequest(localName: "Thermometer", serviceUUIDs: wanted), Self.app, on: "desk")
    air.pass(.seconds(1))
    let events = air.machines["desk"]?.apps[Self.app]?.events ?? []
    #expect(events.contains(.advertisingStarted(error: nil)))
    let data = try #require(air.onAir("desk").first?.data)
    #expect(Set(data.serviceUUIDs) == Set(advertised))
    #expect(data.localName == "Thermometer")
  }
}
