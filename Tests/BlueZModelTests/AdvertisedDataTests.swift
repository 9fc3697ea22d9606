import BlueZ
import BluetoothTypes
import BusValue
import Radio
import Testing
import TimeTypes

@testable import BlueZModel

/// What an LEAdvertisement1 says that no other property of Device1 shows, and its scan response (src/advertising.c and
/// src/device.c of BlueZ 5.82).
@Suite struct AdvertisedData {
  private static let path = ObjectPath(unchecked: "/advertisement")

  private static func data(_ structures: [UInt8: [UInt8]]) -> Value {
    .dictionary(
      key: "y", value: "v",
      Dictionary(uniqueKeysWithValues: structures.map { (Value.byte($0.key), Value.variant(.bytes($0.value))) }))
  }

  private static func manufacturer(_ bytes: [UInt8]) -> Value {
    .dictionary(key: "q", value: "v", [.uint16(0xFFFF): .variant(.bytes(bytes))])
  }

  private func register(_ properties: Properties, _ bench: inout Bench) -> Result<Reply, BlueZError>? {
    let all: Properties = [
      "Type": .string("peripheral"), "Discoverable": .bool(true), "MinInterval": .uint32(100),
      "MaxInterval": .uint32(100), "ServiceUUIDs": .strings([Bench.service.description]),
    ]
    return bench.ask(
      Bench.door, Bench.adapter,
      .registerAdvertisement(path: Self.path, properties: all.merging(properties) { $1 }))
  }

  private func change(_ properties: Properties, _ bench: inout Bench) {
    bench.send(Bench.door, .advertisementChanged(path: Self.path, properties, gone: []))
    bench.run(.seconds(2))
  }

  /// The phone goes on discovering.
  private func found(_ bench: inout Bench) throws -> ObjectPath {
    bench.call(Bench.phone, Bench.adapter, .setDiscoveryFilter(DiscoveryFilter(duplicateData: false)))
    bench.call(Bench.phone, Bench.adapter, .startDiscovery)
    bench.run(.seconds(3))
    return try #require(bench.lockPath)
  }

  @Test("H4: what an advertisement says without a property of its own is AdvertisingData, and only 26 is announced")
  func furtherData() throws {
    var bench = Bench()
    #expect(register(["Data": Self.data([0x26: [1, 2], 0x24: [5]])], &bench)?.isSuccess == true)
    let device = try found(&bench)
    #expect(bench.device(device, "AdvertisingData") == Self.data([0x26: [1, 2], 0x24: [5]]))
    bench.signals = []
    change(["Data": Self.data([0x24: [6]])], &bench)
    #expect(bench.device(device, "AdvertisingData") == Self.data([0x26: [1, 2], 0x24: [6]]))
    #expect(bench.changes(InterfaceName.device, "AdvertisingData").isEmpty)
    change(["Data": Self.data([0x26: [3]])], &bench)
    #expect(bench.changes(InterfaceName.device, "AdvertisingData").map(\.value) == [Self.data([0x26: [3], 0x24: [6]])])
  }

  @Test("H4: an advertisement without flags has the flags 0")
  func flags() throws {
    var bench = Bench()
    bench.call(Bench.phone, Bench.adapter, .setDiscoveryFilter(DiscoveryFilter(rssi: -120)))
    bench.call(Bench.phone, Bench.adapter, .startDiscovery)
    func flags(_ bench: Bench) -> Value? { bench.lockPath.flatMap { bench.device($0, "AdvertisingFlags") } }
    #expect(register([:], &bench)?.isSuccess == true)
    bench.run(.seconds(3))
    #expect(flags(bench) == .bytes([6]))
    #expect(bench.ask(Bench.door, Bench.adapter, .unregisterAdvertisement(path: Self.path))?.isSuccess == true)
    #expect(register(["Type": .string("broadcast"), "Discoverable": .bool(false)], &bench)?.isSuccess == true)
    bench.run(.seconds(3))
    #expect(flags(bench) == .bytes([0]))
  }

  @Test("H4: the beginning of a name does not replace a name that is known")
  func shortenedName() throws {
    var bench = Bench()
    let name = "The front door of the house in the lane"
    #expect(register(["LocalName": .string(name)], &bench)?.isSuccess == true)
    let device = try found(&bench)
    #expect(bench.device(device, "Name") == .string(String(name.prefix(29))))
    bench.call(Bench.phone, device, .connect)
    let isNamed = bench.run(within: .seconds(20)) { $0.device(device, "Name") == .string(Bench.door) }
    #expect(isNamed, "the link tells the whole name")
    #expect(bench.ask(Bench.phone, device, .disconnect)?.isSuccess == true)
    bench.run(.seconds(10))
    #expect(bench.device(device, "Name") == .string(Bench.door))
  }

  @Test(
    "H4: a name that is cut within a letter is read as ASCII",
    arguments: [
      (String(repeating: "a", count: 28) + "üb", String(repeating: "a", count: 28)),
      ("aü" + String(repeating: "b", count: 25) + "üc", "a  " + String(repeating: "b", count: 25)),
      ("aü" + String(repeating: "b", count: 24) + "üc", "aü" + String(repeating: "b", count: 24) + "ü"),
    ])
  func cutName(_ name: String, _ heard: String) throws {
    var bench = Bench()
    #expect(register(["LocalName": .string(name)], &bench)?.isSuccess == true)
    let device = try found(&bench)
    #expect(bench.device(device, "Name") == .string(heard))
  }

  @Test("H4: an advertisement's scan response has the services, the data and as much of the name as fits")
  func scanResponse() throws {
    var bench = Bench()
    let heart = BluetoothUUID(UInt16(0x180D))
    #expect(
      register(
        [
          "ScanResponseServiceUUIDs": .strings(["180d"]), "ScanResponseManufacturerData": Self.manufacturer([1, 2]),
          "ScanResponseServiceData": .dictionary(
            key: "s", value: "v", [.string("180f"): .variant(.bytes([50]))]),
          "ScanResponseData": Self.data([0x26: [9]]), "LocalName": .string("a name"),
        ], &bench)?.isSuccess == true)
    let device = try found(&bench)
    #expect(bench.device(device, "UUIDs")?.stringsValue?.contains(heart.description) == true)
    #expect(bench.device(device, "ManufacturerData") == Self.manufacturer([1, 2]))
    #expect(bench.device(device, "AdvertisingData") == Self.data([0x26: [9]]))
    #expect(bench.device(device, "Name") == .string("a name"))
    change(["ScanResponseManufacturerData": Self.manufacturer([3, 4])], &bench)
    #expect(bench.device(device, "ManufacturerData") == Self.manufacturer([1, 2]), "such changes are ignored")
    change(["ScanResponseData": Self.data([0x26: [7]])], &bench)
    #expect(bench.device(device, "AdvertisingData") == Self.data([0x26: [7]]))
  }

  @Test("H4: a name is cut to what is left of the scan response")
  func cutName() throws {
    var bench = Bench()
    #expect(
      register(
        [
          "ScanResponseManufacturerData": Self.manufacturer([UInt8](repeating: 1, count: 20)),
          "LocalName": .string("a long name"),
        ], &bench)?.isSuccess == true)
    let device = try found(&bench)
    #expect(bench.device(device, "Name") == .string("a lon"))
  }

  @Test("H4: data that can't be advertised, or is of other types, is refused, also in a scan response")
  func refused() {
    var bench = Bench()
    for wrong: Properties in [
      ["ScanResponseData": Self.data([0x09: [1]])],
      ["ScanResponseData": Self.data([0x26: [UInt8](repeating: 0, count: 30)])],
      ["ScanResponseData": .string("data")], ["ScanResponseServiceUUIDs": .strings(["18"])],
      ["ScanResponseManufacturerData": Self.manufacturer([UInt8](repeating: 0, count: 28))],
      // No variants; and to bluetoothd an array without elements has no type.
      ["ServiceData": .dictionary(key: "s", value: "ay", [.string("180f"): .bytes([50])])],
      ["ManufacturerData": .dictionary(key: "q", value: "ay", [.uint16(0x4C): .bytes([1])])],
      ["Data": .dictionary(key: "y", value: "ay", [.byte(0x26): .bytes([1])])],
      ["ManufacturerData": Self.manufacturer([])], ["Data": Self.data([0x26: []])],
      ["ServiceData": .dictionary(key: "s", value: "v", [.string("180f"): .variant(.bytes([]))])],
    ] {
      #expect(register(wrong, &bench)?.error == .failed("Failed to parse advertisement."), "\(wrong)")
    }
    #expect(
      register(
        [
          "ScanResponseManufacturerData": Self.manufacturer([UInt8](repeating: 0, count: 25)),
          "ScanResponseData": Self.data([0x26: [1, 2]]),
        ], &bench)?.error == .failed("Failed to register advertisement"))
  }

  @Test("H4: an empty array of any type is no data, and strings alone count as services")
  func emptyArrays() throws {
    let empty: [Value] = [
      .dictionary(key: "s", value: "v", [:]), .dictionary(key: "q", value: "v", [:]),
      .dictionary(key: "y", value: "v", [:]), .array(of: "o", []), .array(of: "v", []), .bytes([]),
    ]
    let names = [
      "ManufacturerData", "ServiceData", "Data", "SolicitUUIDs", "Includes", "ScanResponseServiceUUIDs",
      "ScanResponseManufacturerData", "ScanResponseServiceData", "ScanResponseData",
    ]
    for name in names {
      for value in empty {
        var bench = Bench()
        #expect(register([name: value], &bench)?.isSuccess == true, "\(name) \(value)")
        _ = try found(&bench)
      }
    }
    var bench = Bench()
    let path = ObjectPath(unchecked: "/x")
    #expect(register(["SolicitUUIDs": .array(of: "o", [.path(path)])], &bench)?.isSuccess == true)
    var another = Bench()
    #expect(
      register(["ManufacturerData": .dictionary(key: "s", value: "v", [.string("a"): .variant(.byte(1))])], &another)?
        .error == .failed("Failed to parse advertisement."))
  }

  /// BlueZ's own example-advertisement.
  @Test("H4: an advertisement whose flags leave no room for the power is advertised without it")
  func noRoomForPower() throws {
    var bench = Bench()
    func example(_ more: Properties) -> Properties {
      let serviceData = Value.dictionary(key: "s", value: "v", [.string("9999"): .variant(.bytes([0, 1, 2, 3, 4]))])
      let example: Properties = [
        "Type": .string("peripheral"), "ServiceUUIDs": .strings(["180D", "180F"]), "Includes": .strings(["tx-power"]),
        "LocalName": .string("TestAdvertisement"), "ManufacturerData": Self.manufacturer([0, 1, 2, 3]),
        "ServiceData": serviceData, "Data": Self.data([0x26: [1, 1, 0]]), "MinInterval": .uint32(100),
        "MaxInterval": .uint32(100),
      ]
      return example.merging(more) { $1 }
    }
    func register(_ path: String, _ properties: Properties) -> Result<Reply, BlueZError>? {
      bench.ask(
        Bench.door, Bench.adapter,
        .registerAdvertisement(path: ObjectPath(unchecked: path), properties: properties))
    }
    let refusal = "Failed to register advertisement"
    // bluetoothd counts the flags that it writes itself, and one byte more has no room beside the power.
    #expect(register("/flags", example(["Discoverable": .bool(true)]))?.error?.message == refusal)
    #expect(register("/data", example(["Data": Self.data([0x26: [1, 1, 0, 0]])]))?.error?.message == refusal)
    #expect(register("/example", example([:]))?.isSuccess == true)
    #expect(try advertised(example([:])).flags == 0x04)
    #expect(try advertised(example([:])).transmitPowerLevel == nil)
    // Without the further data there is room.
    #expect(try advertised(example(["Data": Self.data([:])])).transmitPowerLevel == 0)
  }

  @Test("H4: an adapter with classic Bluetooth does not say that it has none, nor flags if it is not discoverable")
  func flagsOfDualMode() throws {
    let discoverable: Properties = ["Type": .string("peripheral"), "Discoverable": .bool(true)]
    #expect(try advertised(discoverable).flags == 0x06)
    #expect(try advertised(discoverable, isDualMode: true).flags == 0x02)
    #expect(try advertised(["Type": .string("peripheral")]).flags == 0x04)
    #expect(try advertised(["Type": .string("peripheral")], isDualMode: true).flags == nil)
  }

  /// What is on the air, without the scan response.
  private func advertised(_ properties: Properties, isDualMode: Bool = false) throws -> AdvertisementData {
    let reader = AdvertisementReader(
      properties: PropertyValues(properties), name: "door", isDiscoverable: false, isDualMode: isDualMode)
    let address = DeviceAddress(bits: 0xC0_FF_EE_00_00_01, kind: .public)
    var data = AdvertisementData()
    #expect(AdvertisementCodec.read(try reader.parameters(.fixed(address)).data, into: &data))
    return data
  }

  @Test("H4: a member of a coordinated set is told of even if it is not discoverable")
  func coordinatedSet() throws {
    var bench = Bench()
    #expect(
      register(["Discoverable": .bool(false), "Data": Self.data([0x2E: [1, 2, 3, 4, 5, 6]])], &bench)?.isSuccess
        == true)
    bench.call(Bench.phone, Bench.adapter, .startDiscovery)
    bench.run(.seconds(3))
    let device = try #require(bench.lockPath)
    #expect(bench.device(device, "AdvertisingData") == Self.data([0x2E: [1, 2, 3, 4, 5, 6]]))
  }
}
