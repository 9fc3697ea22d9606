import BlueZ
import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// Reads an LEAdvertisement1, with the limits that bluetoothd sets (src/advertising.c, src/shared/ad.c).
struct AdvertisementReader {
  let properties: Properties
  let name: String
  let isDiscoverable: Bool
  /// Its own end of being discoverable has come.
  var hasDiscoverableEnded = false

  /// What a property that makes no sense comes to.
  static let unreadable = BlueZError.failed("Failed to parse advertisement.")
  private static let payloadLimit = 31

  /// Types of AD structures that `Data` may not have: those that other properties make, and those that are a link's or a
  /// mesh's business.
  private static let reservedKinds: Set<UInt8> = Set(
    Array(0x01...0x0A) + Array(0x0D...0x12) + Array(0x14...0x23) + Array(0x27...0x2B) + [0x3D, 0xFF])

  /// How long it is advertised; `nil` without an end.
  func timeout() throws(BlueZError) -> Duration? { try seconds("Timeout") }
  func discoverableTimeout() throws(BlueZError) -> Duration? {
    isGenerallyDiscoverable ? try seconds("DiscoverableTimeout") : nil
  }

  private var isGenerallyDiscoverable: Bool { properties["Discoverable"]?.boolValue == true }

  func parameters(_ ownAddress: OwnAddress) throws(BlueZError) -> AdvertisingParameters {
    let type = properties["Type"].map { $0.stringValue ?? "" } ?? "broadcast"
    guard type == "peripheral" || type == "broadcast" else { throw Self.unreadable }
    let isPeripheral = type == "peripheral"
    try check(isPeripheral: isPeripheral)
    var data = AdvertisementData()
    data.serviceUUIDs = try uuids("ServiceUUIDs")
    data.solicitedServiceUUIDs = try uuids("SolicitUUIDs")
    data.serviceData = try serviceData()
    data.manufacturerData = try manufacturerData()
    // What it does not know of these it leaves out.
    let includes = try texts("Includes")
    data.appearance = try appearance()
    if includes.contains("tx-power") { data.transmitPowerLevel = 0 }
    if includes.contains("appearance") {
      guard data.appearance == nil else { throw Self.unreadable }
      // bluetoothd writes the appearance and tells the kernel to write it, which refuses what has it already.
      throw .failed("Failed to register advertisement")
    }
    if isPeripheral { data.flags = flags(try discoverableTimeout() != nil) }
    let payload = AdvertisementCodec.write(data) + (try rawData())
    let scanResponse = try scanResponse(includesName: includes.contains("local-name"))
    guard payload.count <= Self.payloadLimit, scanResponse.count <= Self.payloadLimit else {
      throw .failed("Failed to register advertisement")
    }
    return AdvertisingParameters(
      ownAddress: ownAddress, data: payload, scanResponse: scanResponse, interval: try interval(),
      isConnectable: isPeripheral)
  }

  /// Those that only have to make sense.
  private func check(isPeripheral: Bool) throws(BlueZError) {
    if let value = properties["Discoverable"] {
      guard let isOn = value.boolValue, isPeripheral || !isOn else { throw Self.unreadable }
    }
    // Such a controller has no channels but the primary ones.
    guard properties["SecondaryChannel"] == nil else { throw Self.unreadable }
    switch properties["TxPower"] {
    case nil: break
    case .int16(let power)? where (-127...20).contains(power): break
    default: throw Self.unreadable
    }
    _ = try seconds("Duration")
    if let timeout = try timeout(), let discoverable = try discoverableTimeout(), timeout < discoverable {
      throw Self.unreadable
    }
  }

  /// No classic Bluetooth, and discoverable for a time, always, or not.
  private func flags(_ isLimited: Bool) -> UInt8 {
    guard properties["Discoverable"]?.boolValue ?? isDiscoverable, !hasDiscoverableEnded else { return 0x04 }
    return isLimited ? 0x05 : 0x06
  }

  private func scanResponse(includesName: Bool) throws(BlueZError) -> [UInt8] {
    var text: String? = includesName ? name : nil
    if let value = properties["LocalName"] {
      guard let own = value.stringValue, !includesName else { throw Self.unreadable }
      text = own
    }
    guard let text, !text.isEmpty else { return [] }
    return AdvertisementCodec.write(name: text)
  }

  private func seconds(_ name: String) throws(BlueZError) -> Duration? {
    switch properties[name] {
    case nil: return nil
    case .uint16(let seconds)?: return seconds == 0 ? nil : .seconds(Int64(seconds))
    default: throw Self.unreadable
    }
  }

  private func appearance() throws(BlueZError) -> UInt16? {
    switch properties["Appearance"] {
    case nil: return nil
    case .uint16(let value)?: return value
    default: throw Self.unreadable
    }
  }

  private func texts(_ name: String) throws(BlueZError) -> [String] {
    guard let value = properties[name] else { return [] }
    guard let texts = value.stringsValue else { throw Self.unreadable }
    return texts
  }

  private func uuids(_ name: String) throws(BlueZError) -> [BluetoothUUID] {
    var result: [BluetoothUUID] = []
    for text in try texts(name) {
      guard let uuid = BluetoothUUID(bluez: text) else { throw Self.unreadable }
      if !result.contains(uuid) { result.append(uuid) }
    }
    return result
  }

  /// The members of a dictionary of bytes.
  private func bytes(_ name: String) throws(BlueZError) -> [(key: Value, bytes: [UInt8])] {
    guard let value = properties[name] else { return [] }
    guard case .dictionary(_, _, let members) = value else { throw Self.unreadable }
    var result: [(key: Value, bytes: [UInt8])] = []
    for (key, value) in members {
      guard let bytes = value.unwrapped.bytesValue else { throw Self.unreadable }
      result.append((key, bytes))
    }
    return result
  }

  private func serviceData() throws(BlueZError) -> [BluetoothUUID: [UInt8]] {
    var result: [BluetoothUUID: [UInt8]] = [:]
    for (key, bytes) in try bytes("ServiceData") {
      guard let uuid = key.stringValue.flatMap({ BluetoothUUID(bluez: $0) }),
        bytes.count + uuid.littleEndianBytes.count + 2 <= Self.payloadLimit
      else { throw Self.unreadable }
      result[uuid] = bytes
    }
    return result
  }

  private func manufacturerData() throws(BlueZError) -> [UInt16: [UInt8]] {
    var result: [UInt16: [UInt8]] = [:]
    for (key, bytes) in try bytes("ManufacturerData") {
      guard let company = key.integerValue.flatMap({ UInt16(exactly: $0) }), bytes.count + 4 <= Self.payloadLimit
      else { throw Self.unreadable }
      result[company] = bytes
    }
    return result
  }

  /// Further AD structures, by type.
  private func rawData() throws(BlueZError) -> [UInt8] {
    var result: [(kind: UInt8, bytes: [UInt8])] = []
    for (key, bytes) in try bytes("Data") {
      guard case .byte(let kind) = key, !Self.reservedKinds.contains(kind), bytes.count + 2 <= Self.payloadLimit
      else { throw Self.unreadable }
      result.append((kind, bytes))
    }
    return result.sorted { $0.kind < $1.kind }.flatMap { AdvertisementCodec.write(kind: $0.kind, $0.bytes) }
  }

  /// In milliseconds on the bus, and good for something where both ends are given; the kernel's default is 1.28 s.
  private func interval() throws(BlueZError) -> Duration {
    func milliseconds(_ name: String) throws(BlueZError) -> Int64? {
      switch properties[name] {
      case nil: return nil
      case .uint32(let value)? where (20...10_485_759).contains(value): return Int64(value)
      default: throw Self.unreadable
      }
    }
    let (least, most) = (try milliseconds("MinInterval"), try milliseconds("MaxInterval"))
    guard let least else { return .milliseconds(1280) }
    guard let most, least <= most else { throw Self.unreadable }
    return .milliseconds(least)
  }
}
