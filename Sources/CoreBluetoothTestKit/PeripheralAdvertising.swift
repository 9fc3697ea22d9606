import AppLink
import BlueZ
import BluetoothTypes
import CoreBluetooth
import Foundation

/// What a peripheral advertises beside its services and its name, as beacons, tags and sensors do that nobody connects to.
extension SimulatedPeripheral {
  /// What apps find at `CBAdvertisementDataManufacturerDataKey`: the company's identifier, least significant byte first, and 27 bytes at
  /// most of the company's data. `nil`, as at the start, for none.
  ///
  /// A new value is on the air at once. An app that scans without `CBCentralManagerScanOptionAllowDuplicatesKey` has heard of the
  /// peripheral already, and is not told.
  public var manufacturerData: Data? {
    get { announcedData.manufacturer }
    set {
      if let newValue {
        precondition(
          (2...29).contains(newValue.count),
          "the data of a manufacturer are 2 bytes of its identifier and 0 to 27 others, not \(newValue.count) in all")
      }
      announce { $0.manufacturer = newValue }
    }
  }

  /// What apps find at `CBAdvertisementDataServiceDataKey`, by the service. With the data of the manufacturer it has to fit into 31
  /// bytes, in which each entry takes two bytes and those of its UUID beside its own.
  public var serviceData: [CBUUID: Data] {
    get { announcedData.services }
    set { announce { $0.services = newValue } }
  }

  private var announcedData: AnnouncedData { engine?.run { [name] in $0.manners[name]?.announced } ?? AnnouncedData() }

  /// Notes which services have to be found.
  func announceServices() {
    let services = advertisedServices
    let request = AdvertisementRequest(localName: localName, serviceUUIDs: services.compactMap(\.systemUUID))
    engine?.changeManners(of: name) { manners in
      manners.announced.advertised = request.serviceUUIDs
      let leftOut = manners.announced.leftOut(of: request)
      guard !leftOut.isEmpty else { return }
      let names = leftOut.map(\.description).joined(separator: ", ")
      FileHandle.standardError.write(
        Data(
          """
          SimulatedHome: the peripheral "\(name)" has no room to advertise \(names): no scan for that finds it. Say with \
          `advertisedServices` which services it advertises, or give it a shorter name.\n
          """.utf8))
    }
  }

  private func announce(_ body: (inout AnnouncedData) -> Void) {
    var changed = announcedData
    body(&changed)
    precondition(
      changed.byteCount <= AnnouncedData.room,
      "what \(name) is to advertise takes \(changed.byteCount) bytes, and there are \(AnnouncedData.room)")
    engine?.changeManners(of: name) { $0.announced = changed }
    advertiseAnew()
  }
}

/// Data that a simulated peripheral advertises and that no app can: a `CBPeripheralManager` advertises services and a name alone.
struct AnnouncedData: Sendable {
  /// The bytes of an advertisement, and as many of the answer to a scan.
  static let room = 31
  /// Flags, which every advertisement of a peripheral has.
  private static let flagsByteCount = 3

  var manufacturer: Data?
  var services: [CBUUID: Data] = [:]
  /// The services that are to be found. The peripheral's system advertises those that have room.
  var advertised: [BluetoothUUID] = []

  /// The bytes of its AD structures: each has its length and its type before its content.
  var byteCount: Int {
    services.reduce(manufacturer.map { $0.count + 2 } ?? 0) { $0 + $1.key.data.count + $1.value.count + 2 }
  }

  /// The services that are nowhere.
  func leftOut(of request: AdvertisementRequest) -> [BluetoothUUID] {
    let listed = request.servicesWithRoom
    let answered = answered(beside: listed, request.localName)
    return advertised.filter { !listed.contains($0) && !answered.contains($0) }
  }

  /// The services that have room in the answer to a scan, of those that have none in the advertisement. The whole name
  /// goes first.
  private func answered(beside listed: [BluetoothUUID], _ localName: String?) -> [BluetoothUUID] {
    let others = advertised.filter { !listed.contains($0) }
    guard !others.isEmpty else { return [] }
    var room = Self.room - (isInAdvertisement(beside: listed) ? 0 : byteCount)
    if let localName { room -= localName.utf8.count + 2 }
    return others.reduce(into: []) { found, service in
      if Self.byteCount(of: found + [service]) <= room { found.append(service) }
    }
  }

  private func isInAdvertisement(beside listed: [BluetoothUUID]) -> Bool {
    Self.flagsByteCount + Self.byteCount(of: listed) + byteCount <= Self.room
  }

  /// The message by which the peripheral's system registers an advertisement, with these data and services in it.
  /// They are in the advertisement if they have room there, and otherwise in the answer to a scan, as with other devices.
  func added(to message: ClientMessage) -> ClientMessage {
    guard byteCount > 0 || !advertised.isEmpty,
      case .call(let call, let adapter, .registerAdvertisement(let path, let properties)) = message
    else { return message }
    var content = PropertyValues<LEAdvertisement1>(properties)
    let listed = content.serviceUUIDs ?? []
    let answered = answered(beside: listed, content.localName)
    if !answered.isEmpty { content.scanResponseServiceUUIDs = answered }
    if isInAdvertisement(beside: listed) {
      if let companies { content.manufacturerData = companies }
      if !services.isEmpty { content.serviceData = serviceBytes }
    } else {
      if let companies { content.scanResponseManufacturerData = companies }
      if !services.isEmpty { content.scanResponseServiceData = serviceBytes }
    }
    return .call(call, path: adapter, .registerAdvertisement(path: path, properties: content.all))
  }

  private var companies: [UInt16: [UInt8]]? {
    manufacturer.map { data in
      let bytes = Array(data)
      return [UInt16(bytes[1]) << 8 | UInt16(bytes[0]): Array(bytes.dropFirst(2))]
    }
  }

  private var serviceBytes: [BluetoothUUID: [UInt8]] {
    var result: [BluetoothUUID: [UInt8]] = [:]
    for (uuid, data) in services {
      if let service = uuid.systemUUID { result[service] = Array(data) }
    }
    return result
  }

  /// The bytes of the lists of services: one list for each length of UUIDs.
  private static func byteCount(of uuids: [BluetoothUUID]) -> Int {
    let lengths = uuids.map(\.bigEndianBytes.count)
    return lengths.reduce(0, +) + 2 * Set(lengths).count
  }
}

extension CBUUID {
  fileprivate var systemUUID: BluetoothUUID? { BluetoothUUID(bigEndian: Array(data)) }
}
