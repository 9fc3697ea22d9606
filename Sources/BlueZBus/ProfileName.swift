import BlueZ
import BluetoothTypes

/// Reads the names that bluetoothd accepts for profiles of classic Bluetooth (src/uuid-helper.c, bt_name2string).
enum ProfileName {
  private static let words: [String: UInt16] = [
    "vcp": 0x110F, "map": 0x1134, "pbap": 0x1130, "sap": 0x112D, "ftp": 0x1106, "bpp": 0x1122, "bip": 0x111A,
    "synch": 0x1104, "dun": 0x1103, "opp": 0x1105, "fax": 0x1111, "spp": 0x1101, "hsp": 0x1108, "hfp": 0x111E,
  ]

  /// The UUID of a name: a whole UUID, a word, or a hexadecimal number, of which the last four digits count. An empty
  /// text means the number 0. `nil` for anything else.
  static func uuid(_ text: String) -> BluetoothUUID? {
    if text.utf8.count == 36, let uuid = BluetoothUUID(text) { return uuid }
    if let number = words[text.lowercased()] { return BluetoothUUID(number) }
    let digits = text.lowercased().hasPrefix("0x") ? text.dropFirst(2) : text[...]
    guard digits.allSatisfy(\.isHexDigit), digits.isEmpty == text.isEmpty else { return nil }
    return BluetoothUUID(UInt16(digits.suffix(4), radix: 16) ?? 0)
  }
}
