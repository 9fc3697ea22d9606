import BlueZ
import BluetoothTypes
import BusValue
import Radio

/// LEAdvertisingManager1: what clients advertise.
struct AdvertisingState: Sendable {
  static let supportedInstances = 5
  /// By the controller's advertising set.
  var instances: [UInt8: Instance] = [:]

  struct Instance: Sendable {
    var client: ClientIdentifier
    var path: ObjectPath
    var parameters: AdvertisingParameters
  }
}

extension BlueZModel {
  var advertisingProperties: Properties {
    [
      "ActiveInstances": .byte(UInt8(advertising.instances.count)),
      "SupportedInstances": .byte(UInt8(AdvertisingState.supportedInstances - advertising.instances.count)),
      "SupportedIncludes": .strings(["tx-power", "appearance", "local-name"]),
      "SupportedFeatures": .strings([]),
      "SupportedCapabilities": .properties([
        "MaxAdvLen": .byte(31), "MaxScnRspLen": .byte(31), "MinTxPower": .int16(0), "MaxTxPower": .int16(0),
      ]),
    ]
  }

  mutating func registerAdvertisement(
    _ path: ObjectPath, _ properties: Properties, from client: ClientIdentifier
  ) -> Result<Reply, BlueZError> {
    guard !advertising.instances.values.contains(where: { $0.client == client && $0.path == path }) else {
      return .failure(.alreadyExists)
    }
    let sets = UInt8(1)...UInt8(AdvertisingState.supportedInstances)
    guard let set = sets.first(where: { advertising.instances[$0] == nil }) else {
      return .failure(.notPermitted("Maximum advertisements reached"))
    }
    let reader = AdvertisementReader(
      properties: properties, name: adapter.alias ?? configuration.name, isDiscoverable: adapter.isDiscoverable)
    do {
      let parameters = try reader.parameters(ownAddress)
      advertising.instances[set] = AdvertisingState.Instance(client: client, path: path, parameters: parameters)
      advertise(set)
    } catch {
      return .failure(error)
    }
    changed(adapterPath, InterfaceName.advertisingManager, "ActiveInstances", "SupportedInstances")
    return .success(.none)
  }

  mutating func unregisterAdvertisement(
    _ path: ObjectPath, from client: ClientIdentifier
  ) -> Result<Reply, BlueZError> {
    guard let set = advertising.instances.first(where: { $0.value.client == client && $0.value.path == path })?.key
    else { return .failure(.doesNotExist) }
    endAdvertising(set)
    return .success(.none)
  }

  mutating func forgetAdvertisements(of client: ClientIdentifier) {
    for set in advertising.instances.keys.sorted() where advertising.instances[set]?.client == client {
      endAdvertising(set)
    }
  }

  mutating func releaseAdvertisements() {
    for set in advertising.instances.keys.sorted() {
      guard let instance = advertising.instances[set] else { continue }
      callWithoutAnswer(instance.client, instance.path, .release(interface: InterfaceName.advertisement))
    }
  }

  private mutating func endAdvertising(_ set: UInt8) {
    advertising.instances[set] = nil
    if kernel.advertisingSets.remove(set) != nil { tell(.setAdvertising(configuration.controller, set: set, nil)) }
    changed(adapterPath, InterfaceName.advertisingManager, "ActiveInstances", "SupportedInstances")
  }

  private mutating func advertise(_ set: UInt8) {
    guard adapter.isPowered, let instance = advertising.instances[set] else { return }
    kernel.advertisingSets.insert(set)
    tell(.setAdvertising(configuration.controller, set: set, instance.parameters))
  }

  /// Power is back.
  mutating func refreshAdvertising() {
    for set in advertising.instances.keys.sorted() { advertise(set) }
  }

  /// A connection stops the advertisement that brought it. The kernel's rotation brings it back while others may
  /// connect; here that happens at once.
  mutating func restartAdvertising() {
    refreshAdvertising()
  }
}

/// Reads an LEAdvertisement1.
struct AdvertisementReader {
  let properties: Properties
  let name: String
  let isDiscoverable: Bool

  func parameters(_ ownAddress: OwnAddress) throws(BlueZError) -> AdvertisingParameters {
    let type = properties["Type"].map { $0.stringValue ?? "" } ?? "broadcast"
    guard type == "peripheral" || type == "broadcast" else {
      throw .failed("Failed to parse advertisement.")
    }
    var data = AdvertisementData()
    data.serviceUUIDs = try uuids("ServiceUUIDs")
    data.solicitedServiceUUIDs = try uuids("SolicitUUIDs")
    data.serviceData = try serviceData()
    data.manufacturerData = try manufacturerData()
    data.appearance = properties["Appearance"]?.integerValue.flatMap { UInt16(exactly: $0) }
    let includes = properties["Includes"]?.stringsValue ?? []
    guard Set(includes).isSubset(of: ["tx-power", "appearance", "local-name", "rsi"]) else {
      throw .failed("Failed to parse advertisement.")
    }
    if includes.contains("tx-power") { data.transmitPowerLevel = 0 }
    if includes.contains("appearance"), data.appearance == nil { data.appearance = 0 }
    if type == "peripheral" {
      let isDiscoverable = properties["Discoverable"]?.boolValue ?? isDiscoverable
      // No classic Bluetooth; general discoverable where asked for.
      data.flags = isDiscoverable ? 0x06 : 0x04
    }
    let payload = AdvertisementCodec.write(data) + rawData()
    var scanResponse: [UInt8] = []
    let localName = properties["LocalName"]?.stringValue
    if localName != nil, includes.contains("local-name") { throw .failed("Failed to parse advertisement.") }
    if let localName = localName ?? (includes.contains("local-name") ? name : nil), !localName.isEmpty {
      scanResponse = AdvertisementCodec.write(name: localName)
    }
    guard payload.count <= 31, scanResponse.count <= 31 else {
      throw .failed("Failed to register advertisement")
    }
    return AdvertisingParameters(
      ownAddress: ownAddress, data: payload, scanResponse: scanResponse, interval: try interval(),
      isConnectable: type == "peripheral")
  }

  private func uuids(_ name: String) throws(BlueZError) -> [BluetoothUUID] {
    guard let value = properties[name] else { return [] }
    guard let texts = value.stringsValue else { throw .failed("Failed to parse advertisement.") }
    var result: [BluetoothUUID] = []
    for text in texts {
      guard let uuid = BluetoothUUID(text) else { throw .failed("Failed to parse advertisement.") }
      result.append(uuid)
    }
    return result
  }

  private func serviceData() throws(BlueZError) -> [BluetoothUUID: [UInt8]] {
    guard let value = properties["ServiceData"] else { return [:] }
    guard case .dictionary(_, _, let members) = value else { throw .failed("Failed to parse advertisement.") }
    var result: [BluetoothUUID: [UInt8]] = [:]
    for (key, bytes) in members {
      guard let uuid = key.stringValue.flatMap({ BluetoothUUID($0) }), let bytes = bytes.unwrapped.bytesValue else {
        throw .failed("Failed to parse advertisement.")
      }
      result[uuid] = bytes
    }
    return result
  }

  private func manufacturerData() throws(BlueZError) -> [UInt16: [UInt8]] {
    guard let value = properties["ManufacturerData"] else { return [:] }
    guard case .dictionary(_, _, let members) = value else { throw .failed("Failed to parse advertisement.") }
    var result: [UInt16: [UInt8]] = [:]
    for (key, bytes) in members {
      guard let company = key.integerValue.flatMap({ UInt16(exactly: $0) }), let bytes = bytes.unwrapped.bytesValue
      else { throw .failed("Failed to parse advertisement.") }
      result[company] = bytes
    }
    return result
  }

  /// Further AD structures, by type.
  private func rawData() -> [UInt8] {
    guard case .dictionary(_, _, let members)? = properties["Data"] else { return [] }
    return members.compactMap { key, value -> (Int, [UInt8])? in
      guard let kind = key.integerValue, let bytes = value.unwrapped.bytesValue else { return nil }
      return (kind, bytes)
    }
    .sorted { $0.0 < $1.0 }
    .flatMap { AdvertisementCodec.write(kind: UInt8(truncatingIfNeeded: $0.0), $0.1) }
  }

  /// In milliseconds on the bus; the kernel's default is 1.28 s.
  private func interval() throws(BlueZError) -> Duration {
    guard let milliseconds = properties["MinInterval"]?.integerValue else { return .milliseconds(1280) }
    guard (20...10_240).contains(milliseconds) else { throw .failed("Failed to parse advertisement.") }
    return .milliseconds(milliseconds)
  }
}
