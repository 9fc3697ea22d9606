import BluetoothTypes

extension BluetoothUUID {
  /// Reads a UUID as bluetoothd does everywhere (BlueZ, lib/uuid.c): a hexadecimal number of 4 or 6 characters for 16
  /// bits, or of 8 or 10 for 32 bits, with or without `0x`, or all 36 characters. Anything else gives `nil`.
  package init?(bluez text: String) {
    let digits = text.hasPrefix("0x") || text.hasPrefix("0X") ? text.dropFirst(2) : text[...]
    switch (text.utf8.count, UInt64(digits, radix: 16)) {
    case (4, let number?), (6, let number?): self.init(UInt16(truncatingIfNeeded: number))
    case (8, let number?), (10, let number?): self.init(UInt32(truncatingIfNeeded: number))
    case (36, _): self.init(text)
    default: return nil
    }
  }
}
