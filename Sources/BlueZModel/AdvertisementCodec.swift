import BluetoothTypes
import Radio

/// AD structures, as they appear in advertisements (Core Specification Supplement, Part A).
enum AdvertisementCodec {
  private enum Kind {
    static let flags: UInt8 = 0x01
    static let incomplete16: UInt8 = 0x02
    static let complete16: UInt8 = 0x03
    static let incomplete32: UInt8 = 0x04
    static let complete32: UInt8 = 0x05
    static let incomplete128: UInt8 = 0x06
    static let complete128: UInt8 = 0x07
    static let shortName: UInt8 = 0x08
    static let name: UInt8 = 0x09
    static let transmitPower: UInt8 = 0x0A
    static let solicit16: UInt8 = 0x14
    static let solicit128: UInt8 = 0x15
    static let serviceData16: UInt8 = 0x16
    static let appearance: UInt8 = 0x19
    static let solicit32: UInt8 = 0x1F
    static let serviceData32: UInt8 = 0x20
    static let serviceData128: UInt8 = 0x21
    static let transportDiscovery: UInt8 = 0x26
    static let setIdentifier: UInt8 = 0x2E
    static let manufacturer: UInt8 = 0xFF
  }

  /// Adds the content of the structures to `data`. Returns `false`, and adds nothing, if they are malformed.
  static func read(_ bytes: [UInt8], into data: inout AdvertisementData) -> Bool {
    var result = data
    var reader = ByteReader(bytes)
    while let length = reader.byte() {
      // A length of zero ends the data early.
      guard length > 0 else { break }
      guard let kind = reader.byte(), let body = reader.bytes(Int(length) - 1), take(kind, body, &result)
      else { return false }
    }
    data = result
    return true
  }

  /// The services in the service lists of an advertisement and its scan response. A service that appears only in
  /// service data is left out.
  static func listedServices(_ report: AdvertisementReport) -> Set<BluetoothUUID> {
    var data = AdvertisementData()
    for bytes in [report.data, report.scanResponse ?? []] {
      var reader = ByteReader(bytes)
      while let length = reader.byte(), length > 0 {
        guard let kind = reader.byte(), let body = reader.bytes(Int(length) - 1) else { break }
        if (Kind.incomplete16...Kind.complete128).contains(kind) { _ = take(kind, body, &data) }
      }
    }
    return Set(data.serviceUUIDs)
  }

  /// The structures of an advertisement and its scan response that bluetoothd does not interpret, by type.
  static func otherStructures(_ report: AdvertisementReport) -> [UInt8: [UInt8]] {
    var result: [UInt8: [UInt8]] = [:]
    for bytes in [report.data, report.scanResponse ?? []] {
      var reader = ByteReader(bytes)
      while let length = reader.byte(), length > 0 {
        guard let kind = reader.byte(), let body = reader.bytes(Int(length) - 1) else { break }
        if !AdvertisementReader.reservedKinds.contains(kind) { result[kind] = body }
      }
    }
    return result
  }

  /// Whether bluetoothd reports a change of an AD structure that it does not interpret. It does so only for the
  /// Transport Discovery Service (src/device.c, add_data).
  static func isReported(_ kind: UInt8) -> Bool { kind == Kind.transportDiscovery }

  /// Whether the advertisement names a coordinated set (Resolvable Set Identifier). bluetoothd reports a member of such
  /// a set even if the member is not discoverable.
  static func namesSet(_ structures: [UInt8: [UInt8]]) -> Bool { structures[Kind.setIdentifier] != nil }

  private static func take(_ kind: UInt8, _ body: [UInt8], _ data: inout AdvertisementData) -> Bool {
    switch kind {
    case Kind.flags: data.flags = body.first
    case Kind.incomplete16, Kind.complete16: return uuids(body, 2, &data.serviceUUIDs)
    case Kind.incomplete32, Kind.complete32: return uuids(body, 4, &data.serviceUUIDs)
    case Kind.incomplete128, Kind.complete128: return uuids(body, 16, &data.serviceUUIDs)
    case Kind.solicit16: return uuids(body, 2, &data.solicitedServiceUUIDs)
    case Kind.solicit32: return uuids(body, 4, &data.solicitedServiceUUIDs)
    case Kind.solicit128: return uuids(body, 16, &data.solicitedServiceUUIDs)
    case Kind.shortName, Kind.name: data.localName = name(body)
    case Kind.transmitPower:
      guard let power = body.first else { return false }
      data.transmitPowerLevel = Int8(bitPattern: power)
    case Kind.appearance:
      guard body.count == 2 else { return false }
      data.appearance = UInt16(body[1]) << 8 | UInt16(body[0])
    case Kind.serviceData16: return serviceData(body, 2, &data)
    case Kind.serviceData32: return serviceData(body, 4, &data)
    case Kind.serviceData128: return serviceData(body, 16, &data)
    case Kind.manufacturer:
      guard body.count >= 2 else { return false }
      data.manufacturerData[UInt16(body[1]) << 8 | UInt16(body[0])] = Array(body.dropFirst(2))
    default: break
    }
    return true
  }

  /// A name as bluetoothd reads it. A name that is not UTF-8, such as one that was cut within a letter, is taken for ASCII
  /// with a space for each other byte (src/eir.c, name2utf8).
  private static func name(_ body: [UInt8]) -> String {
    let end = body.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
    let bytes = body[..<end]
    if !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) { return text }
    let ascii = bytes.prefix { $0 != 0 }.map { $0 < 0x80 ? $0 : UInt8(ascii: " ") }
    let isSpace: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || (0x09...0x0D).contains($0) }
    guard let first = ascii.firstIndex(where: { !isSpace($0) }), let last = ascii.lastIndex(where: { !isSpace($0) })
    else { return "" }
    return String(decoding: ascii[first...last], as: UTF8.self)
  }

  /// Whether the last name in an advertisement and its scan response is only the beginning of one.
  static func shortensName(_ report: AdvertisementReport) -> Bool {
    var isShort = false
    for bytes in [report.data, report.scanResponse ?? []] {
      var reader = ByteReader(bytes)
      while let length = reader.byte(), length > 0 {
        guard let kind = reader.byte(), reader.bytes(Int(length) - 1) != nil else { break }
        if kind == Kind.shortName { isShort = true }
        if kind == Kind.name { isShort = false }
      }
    }
    return isShort
  }

  private static func uuids(_ body: [UInt8], _ size: Int, _ list: inout [BluetoothUUID]) -> Bool {
    guard body.count % size == 0 else { return false }
    for start in stride(from: 0, to: body.count, by: size) {
      guard let uuid = BluetoothUUID(littleEndian: Array(body[start..<start + size])) else { return false }
      if !list.contains(uuid) { list.append(uuid) }
    }
    return true
  }

  private static func serviceData(_ body: [UInt8], _ size: Int, _ data: inout AdvertisementData) -> Bool {
    guard body.count >= size, let uuid = BluetoothUUID(littleEndian: Array(body.prefix(size))) else { return false }
    data.serviceData[uuid] = Array(body.dropFirst(size))
    // bluetoothd assumes that a device with data for a service has the service.
    if !data.serviceUUIDs.contains(uuid) { data.serviceUUIDs.append(uuid) }
    return true
  }

  /// The AD structures for `data`, of any length. The local name is left out, because bluetoothd puts it into the scan
  /// response.
  static func write(_ data: AdvertisementData) -> [UInt8] {
    var result: [UInt8] = []
    func add(_ kind: UInt8, _ body: [UInt8]) {
      guard !body.isEmpty, body.count < 255 else { return }
      result += [UInt8(body.count + 1), kind] + body
    }
    if let flags = data.flags { add(Kind.flags, [flags]) }
    for (kinds, list) in [
      ((Kind.complete16, Kind.complete32, Kind.complete128), data.serviceUUIDs),
      ((Kind.solicit16, Kind.solicit32, Kind.solicit128), data.solicitedServiceUUIDs),
    ] {
      add(kinds.0, list.filter { $0.littleEndianBytes.count == 2 }.flatMap(\.littleEndianBytes))
      add(kinds.1, list.filter { $0.littleEndianBytes.count == 4 }.flatMap(\.littleEndianBytes))
      add(kinds.2, list.filter { $0.littleEndianBytes.count == 16 }.flatMap(\.littleEndianBytes))
    }
    for (company, bytes) in data.manufacturerData.sorted(by: { $0.key < $1.key }) {
      add(Kind.manufacturer, [UInt8(truncatingIfNeeded: company), UInt8(company >> 8)] + bytes)
    }
    for (uuid, bytes) in data.serviceData.sorted(by: { $0.key < $1.key }) {
      let identifier = uuid.littleEndianBytes
      add(
        identifier.count == 2 ? Kind.serviceData16 : identifier.count == 4 ? Kind.serviceData32 : Kind.serviceData128,
        identifier + bytes)
    }
    if let appearance = data.appearance {
      add(Kind.appearance, [UInt8(truncatingIfNeeded: appearance), UInt8(appearance >> 8)])
    }
    if let power = data.transmitPowerLevel { add(Kind.transmitPower, [UInt8(bitPattern: power)]) }
    return result
  }

  /// The structure for a name, cut to `room` bytes. Empty if there is no room for one letter.
  static func write(name: String, within room: Int) -> [UInt8] {
    guard room > 2 else { return [] }
    let bytes = Array(name.utf8)
    let fitting = bytes.prefix(room - 2)
    return [UInt8(fitting.count + 1), fitting.count == bytes.count ? Kind.name : Kind.shortName] + fitting
  }

  static func write(kind: UInt8, _ body: [UInt8]) -> [UInt8] {
    [UInt8(truncatingIfNeeded: body.count + 1), kind] + body
  }
}
