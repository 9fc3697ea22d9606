import BluetoothTypes
import Testing

@Suite("AD structures")
struct AdvertisementDataTests {
  private let battery = BluetoothUUID(UInt16(0x180F))
  private let long = BluetoothUUID("12345678-9abc-def0-1234-56789abcdef0")

  @Test("What is encoded reads back the same")
  func roundTrip() throws {
    let own = try #require(long)
    let data = AdvertisementData(
      flags: 6, localName: "Tür", serviceUUIDs: [battery, BluetoothUUID(UInt32(0x1234_5678)), own],
      solicitedServiceUUIDs: [battery, BluetoothUUID(UInt32(0x1234_5679)), own],
      serviceData: [battery: [99], BluetoothUUID(UInt32(0x1234_5678)): [], own: [1, 2, 3]],
      manufacturerData: [0x004C: [2, 0x15], 0xFFFF: []], transmitPowerLevel: -12, appearance: 0x0708)
    #expect(try AdvertisementData(parsing: data.encoded()) == data)
    #expect(try AdvertisementData(parsing: []) == AdvertisementData())
    #expect(AdvertisementData().encoded().isEmpty)
  }

  @Test("Bytes as they travel: lengths, types, least significant byte first")
  func layout() throws {
    let data = AdvertisementData(
      flags: 6, localName: "Lock", serviceUUIDs: [battery], manufacturerData: [0x004C: [1]], transmitPowerLevel: -1)
    let expected: [UInt8] = [
      2, 0x01, 6, 3, 0x03, 0x0F, 0x18, 5, 0x09, 0x4C, 0x6F, 0x63, 0x6B, 2, 0x0A, 0xFF, 4, 0xFF, 0x4C, 0x00, 1,
    ]
    #expect(data.encoded() == expected)
  }

  @Test(
    "Malformed lengths are errors that say where",
    arguments: [
      ([2, 0x01], .truncated(offset: 0)), ([2, 0x01, 6, 5, 0x09, 0x41], .truncated(offset: 3)),
      ([255], .truncated(offset: 0)), ([0, 0, 1], .trailing(offset: 0)),
      ([1, 0x01], .badLength(type: 0x01, byteCount: 0)), ([4, 0x03, 1, 2, 3], .badLength(type: 0x03, byteCount: 3)),
      ([4, 0x07, 1, 2, 3], .badLength(type: 0x07, byteCount: 3)), ([1, 0x0A], .badLength(type: 0x0A, byteCount: 0)),
      ([2, 0x16, 1], .badLength(type: 0x16, byteCount: 1)), ([4, 0x20, 1, 2, 3], .badLength(type: 0x20, byteCount: 3)),
      ([2, 0x19, 1], .badLength(type: 0x19, byteCount: 1)), ([2, 0xFF, 1], .badLength(type: 0xFF, byteCount: 1)),
      ([UInt8](repeating: 0, count: 1651), .tooLong(byteCount: 1651)),
    ] as [([UInt8], AdvertisementParseError)])
  func malformed(bytes: [UInt8], expected: AdvertisementParseError) {
    #expect(throws: expected) { try AdvertisementData(parsing: bytes) }
    #expect(!expected.description.isEmpty)
  }

  @Test("Unknown types are passed over, zeros end the data, lists add up, a complete name stays")
  func lenient() throws {
    #expect(try AdvertisementData(parsing: [3, 0x77, 1, 2, 1, 0x78, 2, 0x01, 6, 0, 0]).flags == 6)
    #expect(
      try AdvertisementData(parsing: [3, 0x02, 0x0F, 0x18, 5, 0x03, 0x0F, 0x18, 0x0A, 0x18]).serviceUUIDs
        == [battery, BluetoothUUID(UInt16(0x180A))])
    #expect(try AdvertisementData(parsing: [3, 0x09, 0x41, 0x42, 2, 0x08, 0x41]).localName == "AB")
    #expect(try AdvertisementData(parsing: [2, 0x08, 0x41, 3, 0x09, 0x41, 0x42]).localName == "AB")
    #expect(try AdvertisementData(parsing: [3, 0x09, 0x41, 0xC3]).localName == "A\u{FFFD}")
  }

  @Test("Any bytes at all are either read or refused, and what is read encodes to what reads the same")
  func anything() throws {
    var state: UInt64 = 42
    func next() -> UInt8 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: state >> 56)
    }
    var readCount = 0
    for _ in 0..<20_000 {
      var bytes: [UInt8] = []
      // Structures that are mostly right, so that some get through.
      while bytes.count < 31 && next() > 20 {
        let length = Int(next() % 9)
        bytes += [UInt8(length + (next() > 250 ? 1 : 0)), next() % 0x24] + (0..<max(0, length - 1)).map { _ in next() }
      }
      guard var data = try? AdvertisementData(parsing: bytes) else { continue }
      readCount += 1
      // A short UUID in a list of long ones goes to the list of short ones, which comes first.
      data.serviceUUIDs.sort { ($0.littleEndianBytes.count, $0) < ($1.littleEndianBytes.count, $1) }
      data.solicitedServiceUUIDs.sort { ($0.littleEndianBytes.count, $0) < ($1.littleEndianBytes.count, $1) }
      #expect(try AdvertisementData(parsing: data.encoded()) == data)
    }
    #expect(readCount > 1000)
  }
}
