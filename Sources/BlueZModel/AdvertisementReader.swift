import BlueZ
import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// Reads an LEAdvertisement1, with bluetoothd's limits (src/advertising.c, src/shared/ad.c).
struct AdvertisementReader {
  let properties: PropertyValues<LEAdvertisement1>
  let name: String
  let isDiscoverable: Bool
  /// The controller has classic Bluetooth as well.
  let isDualMode: Bool
  /// The advertisement's `DiscoverableTimeout` has passed.
  var hasDiscoverableEnded = false

  /// The error for an invalid property.
  static let unreadable = BlueZError.failed("Failed to parse advertisement.")
  private static let payloadLimit = 31

  /// Types of AD structures that `Data` may not contain: those made from other properties, and those reserved for
  /// links or mesh.
  static let reservedKinds: Set<UInt8> = Set(
    Array(0x01...0x0A) + Array(0x0D...0x12) + Array(0x14...0x23) + Array(0x27...0x2B) + [0x3D, 0xFF])

  /// How long it is advertised, or `nil` for no limit.
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
    data.serviceData = try serviceData(\.serviceData)
    data.manufacturerData = try manufacturerData(\.manufacturerData)
    // Unknown entries are left out.
    let includes = try read(\.includes) ?? []
    data.appearance = try read(\.appearance)
    if includes.contains("tx-power") { data.transmitPowerLevel = 0 }
    if includes.contains("appearance") {
      guard data.appearance == nil else { throw Self.unreadable }
      // bluetoothd writes the appearance and tells the kernel to write it too. The kernel refuses data that already
      // has it.
      throw .failed("Failed to register advertisement")
    }
    if isPeripheral { data.flags = flags(try discoverableTimeout() != nil) }
    let furtherData = try rawData(\.data)
    var payload = AdvertisementCodec.write(data) + furtherData
    if includes.contains("tx-power"), payload.count > Self.payloadLimit, hasFlagsOfKernel(data) {
      // bluetoothd leaves room for the power, but not for flags that the kernel adds. The kernel then leaves the power
      // out (net/bluetooth/eir.c).
      data.transmitPowerLevel = nil
      payload = AdvertisementCodec.write(data) + furtherData
    }
    let scanResponse = try scanResponse(includesName: includes.contains("local-name"))
    guard payload.count <= Self.payloadLimit, scanResponse.count <= Self.payloadLimit else {
      throw .failed("Failed to register advertisement")
    }
    return AdvertisingParameters(
      ownAddress: ownAddress, data: payload, scanResponse: scanResponse, interval: try interval(),
      isConnectable: isPeripheral)
  }

  /// Properties that only have to be valid.
  private func check(isPeripheral: Bool) throws(BlueZError) {
    let isMeantToBeFound = try read(\.discoverable) ?? false
    guard isPeripheral || !isMeantToBeFound else { throw Self.unreadable }
    // This controller has primary advertising channels only.
    guard !properties.has(\.secondaryChannel) else { throw Self.unreadable }
    if let power = try read(\.txPower), !(-127...20).contains(power) { throw Self.unreadable }
    if let timeout = try timeout(), let discoverable = try discoverableTimeout(), timeout < discoverable {
      throw Self.unreadable
    }
  }

  /// Whether bluetoothd has neither written flags nor asked for some, so that it does not count them. For an adapter of
  /// Low Energy alone the kernel adds some in any case.
  private func hasFlagsOfKernel(_ data: AdvertisementData) -> Bool {
    data.flags != nil && properties.discoverable == nil && !isDiscoverable
  }

  /// The value of the Flags structure: whether there is classic Bluetooth, and discoverable for a limited time, always, or
  /// not at all. There is no such structure if nothing is to be said (net/bluetooth/eir.c).
  private func flags(_ isLimited: Bool) -> UInt8? {
    let noClassic: UInt8 = isDualMode ? 0x00 : 0x04
    guard properties.discoverable ?? isDiscoverable, !hasDiscoverableEnded else { return isDualMode ? nil : noClassic }
    return noClassic | (isLimited ? 0x01 : 0x02)
  }

  private func scanResponse(includesName: Bool) throws(BlueZError) -> [UInt8] {
    var text: String? = includesName ? name : nil
    if let own = try read(\.localName) {
      guard !includesName else { throw Self.unreadable }
      text = own
    }
    var data = AdvertisementData()
    data.serviceUUIDs = try read(\.scanResponseServiceUUIDs) ?? []
    data.solicitedServiceUUIDs = try read(\.scanResponseSolicitUUIDs) ?? []
    data.serviceData = try serviceData(\.scanResponseServiceData)
    data.manufacturerData = try manufacturerData(\.scanResponseManufacturerData)
    var result = AdvertisementCodec.write(data)
    // The name is cut to what is left.
    if let text, !text.isEmpty {
      result += AdvertisementCodec.write(name: text, within: Self.payloadLimit - result.count)
    }
    return result + (try rawData(\.scanResponseData))
  }

  /// Whether a change of this property is ignored. bluetoothd reads the properties of the scan response when an
  /// advertisement is registered. It takes later changes of them only with `--experimental`, except for the raw data
  /// (src/advertising.c, properties_changed).
  static func isFixed(_ name: String) -> Bool {
    [
      LEAdvertisement1.name(\.scanResponseServiceUUIDs), LEAdvertisement1.name(\.scanResponseSolicitUUIDs),
      LEAdvertisement1.name(\.scanResponseManufacturerData), LEAdvertisement1.name(\.scanResponseServiceData),
    ].contains(name)
  }

  private func read<Typed>(_ property: KeyPath<LEAdvertisement1, Property<Typed>>) throws(BlueZError) -> Typed? {
    do throws(PropertyError) { return try properties.read(property) } catch { throw Self.unreadable }
  }

  private func seconds(_ property: KeyPath<LEAdvertisement1, Property<UInt16>>) throws(BlueZError) -> Duration? {
    guard let seconds = try read(property), seconds != 0 else { return nil }
    return .seconds(Int64(seconds))
  }

  /// The period of the kernel's rotation: `Duration`, or two seconds (HCI_DEFAULT_ADV_DURATION).
  func rotation() throws(BlueZError) -> Duration { try seconds(\.durationSeconds) ?? .seconds(2) }

  private func serviceData(
    _ property: KeyPath<LEAdvertisement1, Property<[BluetoothUUID: [UInt8]]>>
  ) throws(BlueZError) -> [BluetoothUUID: [UInt8]] {
    let data = try read(property) ?? [:]
    for (uuid, bytes) in data where bytes.count + uuid.littleEndianBytes.count + 2 > Self.payloadLimit {
      throw Self.unreadable
    }
    return data
  }

  private func manufacturerData(
    _ property: KeyPath<LEAdvertisement1, Property<[UInt16: [UInt8]]>>
  ) throws(BlueZError) -> [UInt16: [UInt8]] {
    let data = try read(property) ?? [:]
    guard data.values.allSatisfy({ $0.count + 4 <= Self.payloadLimit }) else { throw Self.unreadable }
    return data
  }

  /// Further AD structures, by type.
  private func rawData(
    _ property: KeyPath<LEAdvertisement1, Property<[UInt8: [UInt8]]>>
  ) throws(BlueZError) -> [UInt8] {
    let data = try read(property) ?? [:]
    for (kind, bytes) in data where Self.reservedKinds.contains(kind) || bytes.count + 2 > Self.payloadLimit {
      throw Self.unreadable
    }
    return data.sorted { $0.key < $1.key }.flatMap { AdvertisementCodec.write(kind: $0.key, $0.value) }
  }

  /// The advertising interval: `MinInterval`, in milliseconds on the bus, or the kernel's default of 1.28 s if there is
  /// none. `MinInterval` without `MaxInterval`, or above it, is refused.
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
