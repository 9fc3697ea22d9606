import AppLink
import BlueZ
import BluetoothTypes
import BusValue

/// An advertisement as it is exported to bluetoothd.
struct PublishedAdvertisement: Sendable {
  var registration: Registration
  let path: ObjectPath
  let request: AdvertisementRequest

  /// How often it is sent, in milliseconds: 152.5 ms is the first interval that Apple's Accessory Design Guidelines
  /// recommend. At bluetoothd's own 1.28 s a link comes up seconds after somebody has come within range, too late to see
  /// him come nearer. bluetoothd 5.77 and later obey, earlier ones do so with `--experimental` and else pay no heed.
  static let intervalMilliseconds: UInt32 = 152
  static let nameLimitBytes = 248

  var properties: Properties {
    var properties = PropertyValues<LEAdvertisement1>()
    properties.type = "peripheral"
    properties.serviceUUIDs = request.serviceUUIDs
    // As on every other system; a bluetoothd that looks for nothing in particular shows nothing of others.
    properties.discoverable = true
    properties.minIntervalMilliseconds = Self.intervalMilliseconds
    properties.maxIntervalMilliseconds = Self.intervalMilliseconds
    properties.localName = request.localName
    return properties.all
  }
}

extension AdvertisementRequest {
  /// What is wrong with it; `nil`: nothing.
  func refusal(uuidLimit: Int) -> String? {
    let nameLimit = PublishedAdvertisement.nameLimitBytes
    guard serviceUUIDs.count > uuidLimit || localName?.utf8.count ?? 0 > nameLimit else { return nil }
    return "An advertisement has a name of at most \(nameLimit) bytes and at most \(uuidLimit) services."
  }
}
