import BlueZ
import BluetoothTypes
import BusValue
import Testing

/// Addresses, UUIDs and object paths as text: they are written and read with every message, so this is done by hand.
@Suite("Texts of the bus")
struct TextTests {
  @Test(
    "An address is written and read in both of its forms",
    arguments: [0, 0xFFFF_FFFF_FFFF, 0x0102_0304_0506, 0xC0FF_EE00_0001, 0x9A8B_7C6D_5E4F])
  func addresses(bits: UInt64) {
    let address = DeviceAddress(bits: bits, kind: .random)
    #expect(DeviceAddress(address.description, kind: .random) == address)
    #expect(DeviceAddress(address.description.lowercased(), kind: .random) == address)
    #expect(DeviceAddress(pathComponent: address.pathComponent, kind: .random) == address)
    #expect(address.pathComponent == address.description.split(separator: ":").joined(separator: "_"))
    #expect(address.text(separator: "-") == address.description.split(separator: ":").joined(separator: "-"))
  }

  @Test(
    "What is not an address is none",
    arguments: [
      "", "C0:FF:EE:00:00", "C0:FF:EE:00:00:0", "C0:FF:EE:00:00:011", "C0:FF:EE:00:00:0G", "C0_FF_EE_00_00_01",
      "C0:FF:EE:00:00:+1", "C0:FF:EE:00:00:01:", "::::::::::::::::: ", "C0:FF:EE:00:00:é",
    ])
  func noAddresses(text: String) { #expect(DeviceAddress(text, kind: .public) == nil) }

  @Test("An address in upper case, with zeros")
  func addressText() {
    #expect(DeviceAddress(bits: 0x0A00_0B0C_0D0E, kind: .public).description == "0A:00:0B:0C:0D:0E")
  }

  @Test("A UUID is read in its three forms, in either case, and written in the long one")
  func uuids() {
    let battery = "0000180f-0000-1000-8000-00805f9b34fb"
    for text in ["180F", "180f", "0000180F", battery, battery.uppercased()] {
      #expect(BluetoothUUID(text)?.description == battery)
    }
    let own = "5b1c0002-0123-4567-89ab-cdeffedcba98"
    #expect(BluetoothUUID(own)?.description == own)
    #expect(BluetoothUUID(own)?.high == 0x5B1C_0002_0123_4567)
    #expect(BluetoothUUID(own)?.low == 0x89AB_CDEF_FEDC_BA98)
  }

  @Test(
    "What is not a UUID is none",
    arguments: [
      "", "180", "180G", "0x180F", "0000180", "0000180f00001000800000805f9b34fb", "0000180f-0000-1000-8000-00805f9b34f",
      "0000180f-0000-1000-8000-00805f9b34fb0", "0000180f-0000-1000-8000+00805f9b34fb",
      "-0000180f0000-1000-8000-00805f9b34fb",
    ])
  func noUUIDs(text: String) { #expect(BluetoothUUID(text) == nil) }

  @Test("A path knows its parent, its last component, what is below it, and the attribute that it is of")
  func paths() throws {
    let device = try #require(ObjectPath("/org/bluez/hci0/dev_C0_FF_EE_00_00_01"))
    let service = device.attribute(.service, 0x000A)
    #expect(service.text == "/org/bluez/hci0/dev_C0_FF_EE_00_00_01/service000a")
    #expect(service.parent == device)
    #expect(service.remoteAttribute?.handle == 0x000A)
    #expect(device.attribute(.descriptor, 0xFEDC).lastComponent == "descfedc")
    #expect(device.deviceAddress(kind: .public)?.description == "C0:FF:EE:00:00:01")
    #expect(service.isWithin(device) && service.isWithin(service) && service.isWithin(.root))
    #expect(!device.isWithin(service))
    #expect(!WellKnown.adapter(10).isWithin(WellKnown.adapter(1)))
    #expect([ObjectPath.root, WellKnown.adapter(0), device, service].map(\.depth) == [0, 3, 4, 5])
    #expect(ObjectPath.root.lastComponent == "" && ObjectPath.root.parent == nil && ObjectPath.root.isWithin(.root))
    #expect(ObjectPath("/org")?.parent == .root)
    for text in ["", "org", "/org/", "//org", "/org//bluez", "/org/blu-ez", "/org/bl\u{FC}ez"] {
      #expect(ObjectPath(text) == nil, "\(text)")
    }
  }
}
