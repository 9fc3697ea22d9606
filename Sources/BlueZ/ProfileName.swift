import BluetoothTypes

/// Reads the names that bluetoothd accepts for profiles of classic Bluetooth (src/uuid-helper.c, bt_name2string).
package enum ProfileName {
  private static let words: [String: UInt16] = [
    "a2dp-sink": 0x110B, "a2dp-source": 0x110A, "bip": 0x111A, "bpp": 0x1122, "dun": 0x1103, "fax": 0x1111,
    "ftp": 0x1106, "gnss": 0x1136, "hfp": 0x111E, "hfp-ag": 0x111F, "hfp-hf": 0x111E, "hsp": 0x1108, "hsp-ag": 0x1112,
    "hsp-hs": 0x1108, "map-mas": 0x1132, "map-mce": 0x1133, "map-mns": 0x1133, "map-mse": 0x1132, "opp": 0x1105,
    "pbap": 0x1130, "pbap-pce": 0x112E, "pbap-pse": 0x112F, "sap": 0x112D, "spp": 0x1101, "synch": 0x1104,
  ]

  /// The UUID of a name: a whole UUID, a word, or a hexadecimal number of at most FFFF. An empty text means the number 0.
  /// `nil` for anything else.
  package static func uuid(_ text: String) -> BluetoothUUID? {
    if text.utf8.count == 36, let uuid = BluetoothUUID(text) { return uuid }
    if let number = words[text.lowercased()] { return BluetoothUUID(number) }
    let digits = text.lowercased().hasPrefix("0x") ? text.dropFirst(2) : text[...]
    guard digits.allSatisfy(\.isHexDigit), digits.isEmpty == text.isEmpty else { return nil }
    return UInt16(digits.isEmpty ? "0" : digits, radix: 16).map { BluetoothUUID($0) }
  }
}
