/// Settings of the machine, not of an app.
package struct SettingsRecord: Sendable, Hashable {
  /// Makes peers' identifiers differ from those on other machines.
  package var salt: UInt64
  /// The user's own Bluetooth switch.
  package var bluetoothOn: Bool
  /// How often this machine's GATT database was given another mark (`DatabaseMark`); `nil` means never.
  package var databaseMark: UInt32?

  package init(salt: UInt64, bluetoothOn: Bool, databaseMark: UInt32? = nil) {
    self.salt = salt
    self.bluetoothOn = bluetoothOn
    self.databaseMark = databaseMark
  }
}

extension SettingsRecord {
  struct OnDisk: DiskForm {
    var salt: UInt64
    var bluetoothOn: Bool
    /// Missing: never.
    var databaseMark: UInt32?

    enum CodingKeys: String, CodingKey {
      case salt = "salt"
      case bluetoothOn = "bluetoothOn"
      case databaseMark = "databaseMark"
    }

    init(_ record: SettingsRecord) {
      salt = record.salt
      bluetoothOn = record.bluetoothOn
      databaseMark = record.databaseMark
    }

    var value: SettingsRecord { SettingsRecord(salt: salt, bluetoothOn: bluetoothOn, databaseMark: databaseMark) }
  }
}
