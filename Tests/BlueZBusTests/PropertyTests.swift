import BlueZ
import BluetoothTypes
import BusValue
import Testing

@testable import BlueZBus

@Suite("bluetoothd's properties as types")
struct PropertyTests {
  @Test("8: what is written reads back the same, and travels with the type of its table")
  func roundTrip() {
    var device = PropertyValues<Device1>()
    let battery = BluetoothUUID(UInt16(0x180F))
    device.address = "C0:FF:EE:00:00:01"
    device.addressType = .random
    device.rssi = -60
    device.uuids = [battery]
    device.serviceData = [battery: [99]]
    device.manufacturerData = [0x004C: [1, 2]]
    device.adapter = WellKnown.firstAdapter
    #expect(device.deviceAddress == DeviceAddress(bits: 0xC0FF_EE00_0001, kind: .random))
    #expect(device.rssi == -60)
    #expect(device.uuids == [battery])
    #expect(device.serviceData == [battery: [99]])
    #expect(device.manufacturerData == [0x004C: [1, 2]])
    let signatures = Dictionary(uniqueKeysWithValues: Device1.properties.map { ($0.name, $0.signature) })
    for (name, value) in device.all { #expect(value.signature == signatures[name], "\(name)") }
    device.rssi = nil
    #expect(!device.has(\.rssi))
  }

  @Test("8: a property of a wrong type is distinguished from a missing one, and names both types")
  func wrongType() throws {
    let adapter = PropertyValues<Adapter1>([Adapter1.name(\.powered): .string("yes")])
    #expect(adapter.powered == nil)
    #expect(adapter.has(\.powered))
    #expect(throws: PropertyError.self) { try adapter.read(\.powered) }
    #expect(try adapter.read(\.alias) == nil)
    do throws(PropertyError) {
      _ = try adapter.read(\.powered)
    } catch {
      #expect(error.description == "the property Powered is of type s, and not b")
    }
  }

  @Test("8: in changes, a removed property is distinguished from an unchanged one")
  func changes() {
    var changed = PropertyValues<Device1>()
    changed.rssi = -70
    let changes = PropertyChanges<Device1>(changed.all, invalidated: [Device1.name(\.txPower)])
    #expect(changes.rssi == .some(-70))
    #expect(changes.txPower == .some(nil))
    #expect(changes.name == nil)
  }

  @Test("H4: a hundred thousand services in a filter are read at once", .timeLimit(.minutes(20)))
  func manyServices() {
    let texts = (0..<100_000).map { number in
      let digits = String(number, radix: 16)
      return String(repeating: "0", count: 8 - digits.count) + digits
    }
    let filter = DiscoveryFilter(members: ["UUIDs": .strings(texts + texts)])
    #expect(filter?.uuids.count == texts.count)
  }

  @Test(
    "H4: a profile is called by a UUID, a word or a whole number",
    arguments: [
      ("spp", 0x1101), ("0x1101", 0x1101), ("1101", 0x1101), ("00001101", 0x1101), ("12341101", nil), ("", 0),
      ("door", nil),
      ("0x", nil), ("HFP-AG", 0x111F), ("pbap-pce", 0x112E), ("map", nil), ("1101 and more", nil),
      ("00001101-0000-1000-8000-00805f9b34fb", 0x1101),
    ] as [(String, UInt16?)])
  func profileNames(_ text: String, _ number: UInt16?) {
    #expect(ProfileName.uuid(text) == number.map { BluetoothUUID($0) })
  }

  @Test("8: every table names its properties once")
  func once() {
    for (interface, properties) in InterfaceTables.all {
      #expect(Set(properties.map(\.name)).count == properties.count, "\(interface)")
      #expect(!properties.isEmpty, "\(interface)")
    }
  }

  @Test("8: a discovery filter reads back the same, and an invalid one counts as none")
  func filter() {
    let filter = DiscoveryFilter(
      uuids: [BluetoothUUID(UInt16(0x180F))], rssi: -80, transport: "le", duplicateData: true, pattern: "C0")
    #expect(DiscoveryFilter(members: filter.members) == filter)
    #expect(DiscoveryFilter(members: [:]) == DiscoveryFilter())
    for wrong in [
      ["RSSI": Value.int16(21)], ["RSSI": .int32(-60)], ["Pathloss": .uint16(138)], ["Surprise": .bool(true)],
      ["UUIDs": .strings(["no"])], ["RSSI": .int16(-60), "Pathloss": .uint16(1)],
    ] as [Properties] {
      #expect(DiscoveryFilter(members: wrong) == nil, "\(wrong)")
    }
  }
}
