import BluetoothTypes
import Foundation

/// A Bluetooth UUID of 16, 32 or 128 bits. All three forms of one UUID are equal.
open class CBUUID: CoreBluetoothObject, NSCopying, @unchecked Sendable {
  let bluetoothUUID: BluetoothUUID

  init(_ bluetoothUUID: BluetoothUUID) { self.bluetoothUUID = bluetoothUUID }

  /// A placeholder until the app has a UUID: all 128 bits are 0. No attribute has this UUID.
  public override init() { bluetoothUUID = BluetoothUUID(high: 0, low: 0) }

  /// Reads `180F`, `0000180F`, `0000180F-0000-1000-8000-00805F9B34FB` or the same without hyphens, in either case. `0x`
  /// may precede each of them. Any other text is a mistake in the program and ends it, as on Apple's systems.
  public init(string theString: String) {
    guard let uuid = BluetoothUUID(appText: theString) else {
      fatalError(
        "CBUUID(string:): \"\(theString)\" is not a UUID; write 4, 8 or 32 hexadecimal digits, or a UUID with hyphens")
    }
    bluetoothUUID = uuid
  }

  /// Reads 2, 4 or 16 bytes, most significant first. Any other length is a mistake in the program and ends it.
  public init(data theData: Data) {
    guard let uuid = BluetoothUUID(bigEndian: Array(theData)) else {
      fatalError("CBUUID(data:): a UUID has 2, 4 or 16 bytes, not \(theData.count)")
    }
    bluetoothUUID = uuid
  }

  public init(nsuuid theUUID: UUID) { bluetoothUUID = BluetoothUUID(theUUID) }

  @available(*, deprecated, message: "use init(nsuuid:)")
  public init(cfuuid theUUID: CFUUID) {
    bluetoothUUID = BluetoothUUID(UUID(uuidString: theUUID.uuidString) ?? UUID())
  }

  /// The bytes of the shortest form, most significant first: 2, 4 or 16 bytes.
  open var data: Data { Data(bluetoothUUID.bigEndianBytes) }

  /// The shortest form in upper case: 4, 8 or 36 characters.
  open var uuidString: String {
    let bytes = bluetoothUUID.bigEndianBytes
    if bytes.count == 16 { return bluetoothUUID.description.uppercased() }
    return bytes.map { String(format: "%02X", $0) }.joined()
  }

  open override var description: String { uuidString }
  open override var debugDescription: String { uuidString }
  open override var hash: Int { bluetoothUUID.hashValue }

  open override func isEqual(_ object: Any?) -> Bool {
    (object as? CBUUID)?.bluetoothUUID == bluetoothUUID
  }

  open func copy(with zone: NSZone? = nil) -> Any { self }

  override func property(_ name: String) -> Property? {
    switch name {
    case "data": Property(data)
    case "UUIDString", "uuidString": Property(uuidString)
    default: super.property(name)
    }
  }
}

extension BluetoothUUID {
  /// Reads the forms that apps pass, which are more than bluetoothd's.
  fileprivate init?(appText: String) {
    let hasPrefix = appText.hasPrefix("0x") || appText.hasPrefix("0X")
    var digits = hasPrefix ? String(appText.dropFirst(2)) : appText
    if digits.utf8.count == 32, !digits.contains("-") {
      for place in [20, 16, 12, 8] {
        digits.insert("-", at: digits.utf8.index(digits.startIndex, offsetBy: place))
      }
    }
    self.init(digits)
  }

  init(_ uuid: UUID) {
    let bytes = withUnsafeBytes(of: uuid.uuid) { Array($0) }
    self.init(
      high: bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }, low: bytes[8...].reduce(0) { $0 << 8 | UInt64($1) })
  }
}
