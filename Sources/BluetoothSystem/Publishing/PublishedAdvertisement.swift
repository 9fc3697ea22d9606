import AppLink
import BlueZ
import BluetoothTypes
import BusValue

/// An advertisement as it is exported to bluetoothd.
struct PublishedAdvertisement: Sendable {
  var registration: Registration
  let path: ObjectPath
  let request: AdvertisementRequest

  /// The advertising interval in milliseconds. 152.5 ms is the first interval that Apple's Accessory Design
  /// Guidelines recommend. With bluetoothd's own 1.28 s, a link comes up seconds after a person has come within
  /// range, too late to see them approach. bluetoothd 5.77 and later use the value. Earlier versions use it only with
  /// `--experimental` and otherwise ignore it.
  static let intervalMilliseconds: UInt32 = 152
  static let nameLimitBytes = 248

  var properties: Properties {
    var properties = PropertyValues<LEAdvertisement1>()
    properties.type = "peripheral"
    properties.serviceUUIDs = request.serviceUUIDs
    // As on other systems. Without the flag, a bluetoothd that looks for nothing in particular does not show the
    // device.
    properties.discoverable = true
    properties.minIntervalMilliseconds = Self.intervalMilliseconds
    properties.maxIntervalMilliseconds = Self.intervalMilliseconds
    properties.localName = request.localName
    return properties.all
  }
}

extension AdvertisementRequest {
  /// What is wrong with the request, or `nil`.
  func refusal(uuidLimit: Int) -> String? {
    let nameLimit = PublishedAdvertisement.nameLimitBytes
    guard serviceUUIDs.count > uuidLimit || localName?.utf8.count ?? 0 > nameLimit else { return nil }
    return "An advertisement has a name of at most \(nameLimit) bytes and at most \(uuidLimit) services."
  }
}
