import BlueZ
import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// Reads an LEAdvertisement1, with the limits that bluetoothd sets (src/advertising.c, src/shared/ad.c).
struct AdvertisementReader {
  let properties: PropertyValues<LEAdvertisement1>
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
  func timeout() throws(BlueZError) -> Duration? { try seconds(\.timeoutSeconds) }
  func discoverableTimeout() throws(BlueZError) -> Duration? {
    isGenerallyDiscoverable ? try seconds(\.discoverableTimeoutSeconds) : nil
  }

  private var isGenerallyDiscoverable: Bool { properties.discoverable == true }

  func parameters(_ ownAddress: OwnAddress) throws(BlueZError) -> AdvertisingParameters {
    let type = try read(\.type) ?? "broadcast"
    guard type == "peripheral" || type == "broadcast" else { throw Self.unreadable }
    let isPeripheral = type == "peripheral"
    try check(isPeripheral: isPeripheral)
    var data = AdvertisementData()
    data.serviceUUIDs = try read(\.serviceUUIDs) ?? []
    data.solicitedServiceUUIDs = try read(\.solicitUUIDs) ?? []
    data.serviceData = try serviceData()
    data.manufacturerData = try manufacturerData()
    // What it does not know of these it leaves out.
    let includes = try read(\.includes) ?? []
    data.appearance = try read(\.appearance)
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
    let isMeantToBeFound = try read(\.discoverable) ?? false
    guard isPeripheral || !isMeantToBeFound else { throw Self.unreadable }
    // Such a controller has no channels but the primary ones.
    guard !properties.has(\.secondaryChannel) else { throw Self.unreadable }
    if let power = try read(\.txPower), !(-127...20).contains(power) { throw Self.unreadable }
    _ = try read(\.durationSeconds)
    if let timeout = try timeout(), let discoverable = try discoverableTimeout(), timeout < discoverable {
      throw Self.unreadable
    }
  }

  /// No classic Bluetooth, and discoverable for a time, always, or not.
  private func flags(_ isLimited: Bool) -> UInt8 {
    guard properties.discoverable ?? isDiscoverable, !hasDiscoverableEnded else { return 0x04 }
    return isLimited ? 0x05 : 0x06
  }

  private func scanResponse(includesName: Bool) throws(BlueZError) -> [UInt8] {
    var text: String? = includesName ? name : nil
    if let own = try read(\.localName) {
      guard !includesName else { throw Self.unreadable }
      text = own
    }
    guard let text, !text.isEmpty else { return [] }
    return AdvertisementCodec.write(name: text)
  }

  private func read<Typed>(_ property: KeyPath<LEAdvertisement1, Property<Typed>>) throws(BlueZError) -> Typed? {
    do throws(PropertyError) { return try properties.read(property) } catch { throw Self.unreadable }
  }

  private func seconds(_ property: KeyPath<LEAdvertisement1, Property<UInt16>>) throws(BlueZError) -> Duration? {
    guard let seconds = try read(property), seconds != 0 else { return nil }
    return .seconds(Int64(seconds))
  }

  private func serviceData() throws(BlueZError) -> [BluetoothUUID: [UInt8]] {
    let data = try read(\.serviceData) ?? [:]
    for (uuid, bytes) in data where bytes.count + uuid.littleEndianBytes.count + 2 > Self.payloadLimit {
      throw Self.unreadable
    }
    return data
  }

  private func manufacturerData() throws(BlueZError) -> [UInt16: [UInt8]] {
    let data = try read(\.manufacturerData) ?? [:]
    guard data.values.allSatisfy({ $0.count + 4 <= Self.payloadLimit }) else { throw Self.unreadable }
    return data
  }

  /// Further AD structures, by type.
  private func rawData() throws(BlueZError) -> [UInt8] {
    let data = try read(\.data) ?? [:]
    for (kind, bytes) in data where Self.reservedKinds.contains(kind) || bytes.count + 2 > Self.payloadLimit {
      throw Self.unreadable
    }
    return data.sorted { $0.key < $1.key }.flatMap { AdvertisementCodec.write(kind: $0.key, $0.value) }
  }

  /// In milliseconds on the bus, and good for something where both ends are given; the kernel's default is 1.28 s.
  private func interval() throws(BlueZError) -> Duration {
    let (least, most) = (try read(\.minIntervalMilliseconds), try read(\.maxIntervalMilliseconds))
    for milliseconds in [least, most] {
      if let milliseconds, !(20...10_485_759).contains(milliseconds) { throw Self.unreadable }
    }
    guard let least else { return .milliseconds(1280) }
    guard let most, least <= most else { throw Self.unreadable }
    return .milliseconds(Int64(least))
  }
}
