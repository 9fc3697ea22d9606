/// Why bytes are no advertising data.
public enum AdvertisementParseError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Longer than any advertisement, 1650 bytes (Bluetooth Core, Vol 6, Part B, 2.3.4.9).
  case tooLong(byteCount: Int)
  /// A structure says that it is longer than what is left.
  case truncated(offset: Int)
  /// Something other than zeros after a structure of length 0, which ends the data early.
  case trailing(offset: Int)
  /// A structure of a known type whose contents can't have that length.
  case badLength(type: UInt8, byteCount: Int)

  public var description: String {
    switch self {
    case .tooLong(let byteCount): "\(byteCount) bytes are no advertisement"
    case .truncated(let offset): "the AD structure at byte \(offset) is cut off"
    case .trailing(let offset): "there are bytes after the early end, at byte \(offset)"
    case .badLength(let type, let byteCount): "an AD structure of type \(type) can't have \(byteCount) bytes"
    }
  }
}

/// AD types (Core Specification Supplement, Part A; Assigned Numbers, 2.3).
private enum ADType {
  static let flags: UInt8 = 0x01
  static let someUUIDs16: UInt8 = 0x02
  static let allUUIDs16: UInt8 = 0x03
  static let someUUIDs32: UInt8 = 0x04
  static let allUUIDs32: UInt8 = 0x05
  static let someUUIDs128: UInt8 = 0x06
  static let allUUIDs128: UInt8 = 0x07
  static let shortenedName: UInt8 = 0x08
  static let completeName: UInt8 = 0x09
  static let transmitPower: UInt8 = 0x0A
  static let solicitedUUIDs16: UInt8 = 0x14
  static let solicitedUUIDs128: UInt8 = 0x15
  static let serviceData16: UInt8 = 0x16
  static let appearance: UInt8 = 0x19
  static let solicitedUUIDs32: UInt8 = 0x1F
  static let serviceData32: UInt8 = 0x20
  static let serviceData128: UInt8 = 0x21
  static let manufacturerData: UInt8 = 0xFF
}

extension AdvertisementData {
  /// The longest advertising data there is, with extended advertising.
  private static let byteLimit = 1650

  /// Reads AD structures: advertising data, a scan response, or one behind the other. Unknown types are passed over;
  /// lengths must be right. Lists of UUIDs add up; of anything else that comes twice the later one counts, but a
  /// shortened name never replaces a complete one.
  ///
  /// - Throws: `AdvertisementParseError`.
  public init(parsing bytes: [UInt8]) throws(AdvertisementParseError) {
    self.init()
    guard bytes.count <= Self.byteLimit else { throw .tooLong(byteCount: bytes.count) }
    var hasCompleteName = false
    var offset = 0
    while offset < bytes.count {
      let length = Int(bytes[offset])
      if length == 0 {
        guard bytes[offset...].allSatisfy({ $0 == 0 }) else { throw .trailing(offset: offset) }
        return
      }
      guard offset + 1 + length <= bytes.count else { throw .truncated(offset: offset) }
      let type = bytes[offset + 1]
      let contents = bytes[(offset + 2)..<(offset + 1 + length)]
      if type == ADType.completeName || type == ADType.shortenedName {
        if type == ADType.completeName || !hasCompleteName {
          // What is cut off in mid-character, or no UTF-8 at all, is still a name to show.
          localName = String(decoding: contents, as: UTF8.self)
        }
        hasCompleteName = hasCompleteName || type == ADType.completeName
      } else {
        try take(type, contents)
      }
      offset += 1 + length
    }
  }

  private mutating func take(_ type: UInt8, _ contents: ArraySlice<UInt8>) throws(AdvertisementParseError) {
    func requireLength(_ isRight: Bool) throws(AdvertisementParseError) {
      guard isRight else { throw .badLength(type: type, byteCount: contents.count) }
    }
    switch type {
    case ADType.flags:
      // Further octets are for later versions of the specification.
      try requireLength(!contents.isEmpty)
      flags = contents.first
    case ADType.someUUIDs16, ADType.allUUIDs16: try take(type, contents, of: 2, into: \.serviceUUIDs)
    case ADType.someUUIDs32, ADType.allUUIDs32: try take(type, contents, of: 4, into: \.serviceUUIDs)
    case ADType.someUUIDs128, ADType.allUUIDs128: try take(type, contents, of: 16, into: \.serviceUUIDs)
    case ADType.solicitedUUIDs16: try take(type, contents, of: 2, into: \.solicitedServiceUUIDs)
    case ADType.solicitedUUIDs32: try take(type, contents, of: 4, into: \.solicitedServiceUUIDs)
    case ADType.solicitedUUIDs128: try take(type, contents, of: 16, into: \.solicitedServiceUUIDs)
    case ADType.transmitPower:
      try requireLength(contents.count == 1)
      transmitPowerLevel = contents.first.map { Int8(bitPattern: $0) }
    case ADType.appearance:
      try requireLength(contents.count == 2)
      appearance = contents.reversed().reduce(0) { $0 << 8 | UInt16($1) }
    case ADType.serviceData16: try takeServiceData(type, contents, uuidLength: 2)
    case ADType.serviceData32: try takeServiceData(type, contents, uuidLength: 4)
    case ADType.serviceData128: try takeServiceData(type, contents, uuidLength: 16)
    case ADType.manufacturerData:
      try requireLength(contents.count >= 2)
      manufacturerData[contents.prefix(2).reversed().reduce(0) { $0 << 8 | UInt16($1) }] = Array(contents.dropFirst(2))
    default: break
    }
  }

  private mutating func take(
    _ type: UInt8, _ contents: ArraySlice<UInt8>, of length: Int,
    into list: WritableKeyPath<AdvertisementData, [BluetoothUUID]>
  ) throws(AdvertisementParseError) {
    // An empty list is allowed: it says that there are none.
    guard contents.count % length == 0 else { throw .badLength(type: type, byteCount: contents.count) }
    for start in stride(from: contents.startIndex, to: contents.endIndex, by: length) {
      guard let uuid = BluetoothUUID(littleEndian: contents[start..<(start + length)]) else { continue }
      if !self[keyPath: list].contains(uuid) { self[keyPath: list].append(uuid) }
    }
  }

  private mutating func takeServiceData(
    _ type: UInt8, _ contents: ArraySlice<UInt8>, uuidLength: Int
  ) throws(AdvertisementParseError) {
    guard let uuid = BluetoothUUID(littleEndian: contents.prefix(uuidLength)), contents.count >= uuidLength else {
      throw .badLength(type: type, byteCount: contents.count)
    }
    serviceData[uuid] = Array(contents.dropFirst(uuidLength))
  }

  /// The AD structures, each UUID in its shortest form. `isConnectable` is not among them: the packet's type says it.
  /// Neither are the overflow UUIDs, which have no AD type; whoever advertises finds a place for them.
  ///
  /// It is the caller's to see that the whole fits its advertisement, usually 31 bytes. No contents are longer than 254
  /// bytes, which is all that a structure can hold: longer lists become several structures, longer data are cut off.
  public func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    func add(_ type: UInt8, _ contents: [UInt8]) {
      let contents = contents.prefix(254)
      bytes += [UInt8(contents.count + 1), type] + contents
    }
    func add(_ uuids: [BluetoothUUID], _ types: [(length: Int, type: UInt8)]) {
      for (length, type) in types {
        let all = uuids.map(\.littleEndianBytes).filter { $0.count == length }
        for start in stride(from: 0, to: all.count, by: 254 / length) {
          add(type, Array(all[start..<min(start + 254 / length, all.count)].joined()))
        }
      }
    }
    if let flags { add(ADType.flags, [flags]) }
    add(serviceUUIDs, [(2, ADType.allUUIDs16), (4, ADType.allUUIDs32), (16, ADType.allUUIDs128)])
    if let localName { add(ADType.completeName, Array(localName.utf8)) }
    if let transmitPowerLevel { add(ADType.transmitPower, [UInt8(bitPattern: transmitPowerLevel)]) }
    add(
      solicitedServiceUUIDs,
      [(2, ADType.solicitedUUIDs16), (4, ADType.solicitedUUIDs32), (16, ADType.solicitedUUIDs128)])
    for (uuid, data) in serviceData.sorted(by: { $0.key < $1.key }) {
      let uuidBytes = uuid.littleEndianBytes
      let types: [Int: UInt8] = [2: ADType.serviceData16, 4: ADType.serviceData32]
      add(types[uuidBytes.count] ?? ADType.serviceData128, uuidBytes + data)
    }
    if let appearance { add(ADType.appearance, [UInt8(appearance & 0xFF), UInt8(appearance >> 8)]) }
    for (company, data) in manufacturerData.sorted(by: { $0.key < $1.key }) {
      add(ADType.manufacturerData, [UInt8(company & 0xFF), UInt8(company >> 8)] + data)
    }
    return bytes
  }
}
