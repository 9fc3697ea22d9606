import BluetoothTypes

/// BlueZ's words in the property `Flags`, for what may be done with a characteristic or descriptor, and by whom
/// (doc/org.bluez.GattCharacteristic.rst, doc/org.bluez.GattDescriptor.rst). In bluetoothd's order.
package enum GATTFlag: String, Sendable, Hashable, CaseIterable {
  case broadcast = "broadcast"
  case read = "read"
  case writeWithoutResponse = "write-without-response"
  case write = "write"
  case notify = "notify"
  case indicate = "indicate"
  case authenticatedSignedWrites = "authenticated-signed-writes"
  case extendedProperties = "extended-properties"
  case reliableWrite = "reliable-write"
  case writableAuxiliaries = "writable-auxiliaries"
  case encryptRead = "encrypt-read"
  case encryptWrite = "encrypt-write"
  case encryptNotify = "encrypt-notify"
  case encryptIndicate = "encrypt-indicate"
  case encryptAuthenticatedRead = "encrypt-authenticated-read"
  case encryptAuthenticatedWrite = "encrypt-authenticated-write"
  case encryptAuthenticatedNotify = "encrypt-authenticated-notify"
  case encryptAuthenticatedIndicate = "encrypt-authenticated-indicate"
  case secureRead = "secure-read"
  case secureWrite = "secure-write"
  case secureNotify = "secure-notify"
  case secureIndicate = "secure-indicate"
  case authorize = "authorize"

  /// The property on the air that the word stands for. `nil` for words about permissions or extended properties.
  package var property: CharacteristicProperties? {
    switch self {
    case .broadcast: .broadcast
    case .read: .read
    case .writeWithoutResponse: .writeWithoutResponse
    case .write: .write
    case .notify: .notify
    case .indicate: .indicate
    case .authenticatedSignedWrites: .authenticatedSignedWrites
    case .extendedProperties: .extendedProperties
    case .reliableWrite, .writableAuxiliaries, .encryptRead, .encryptWrite, .encryptNotify, .encryptIndicate,
      .encryptAuthenticatedRead, .encryptAuthenticatedWrite, .encryptAuthenticatedNotify, .encryptAuthenticatedIndicate,
      .secureRead, .secureWrite, .secureNotify, .secureIndicate, .authorize:
      nil
    }
  }
}

extension CharacteristicProperties {
  /// The properties that these words stand for. Unknown words are ignored.
  package init(flags: [String]) {
    self = flags.reduce(into: []) { properties, word in
      if let property = GATTFlag(rawValue: word)?.property { properties.insert(property) }
    }
  }

  /// The words for properties that are sent on the air.
  package var flags: [GATTFlag] { GATTFlag.allCases.filter { $0.property.map(contains) ?? false } }
}
