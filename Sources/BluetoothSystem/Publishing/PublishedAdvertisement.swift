import AppLink
import BlueZ
import BluetoothTypes
import BusValue

/// An advertisement as it is exported to bluetoothd.
struct PublishedAdvertisement: Sendable {
  var registration: Registration
  let path: ObjectPath
  let content: Content

  /// What goes on the air.
  struct Content: Sendable, Hashable {
    let request: AdvertisementRequest
    let form: Form
    /// The interval in milliseconds that the app's Info.plist asks for.
    var ownInterval: UInt32?
  }

  /// How an app's advertisement is sent (Apple, "Core Bluetooth Background Processing").
  enum Form: Sendable, Hashable {
    case foreground
    /// Without the name, and with the services in the overflow area (B5, B6).
    /// - overflowCompany: whose manufacturer data hold the area. `nil`: the services are not advertised at all.
    /// - isSlow: it goes out less often, because no app in the foreground advertises (B7).
    case background(overflowCompany: UInt16?, isSlow: Bool)
  }

  /// The advertising interval in milliseconds. 152.5 ms is the first interval that Apple's Accessory Design
  /// Guidelines recommend. With bluetoothd's own 1.28 s, a link comes up seconds after a person has come within
  /// range, too late to see them approach. bluetoothd 5.77 and later use the value. Earlier versions use it only with
  /// `--experimental` and otherwise ignore it.
  static let intervalMilliseconds: UInt32 = 152
  /// The interval while every app that advertises is in the background. It is one of the slowest of the same guidelines:
  /// a scanner of the accept list still hears it within a few seconds.
  static let slowIntervalMilliseconds: UInt32 = 1022
  /// While a link exists that an advertisement has led to, the kernel sends the advertisement again only at its next rotation,
  /// which comes every two seconds unless the advertisement says otherwise. One second is the least that can be said: so
  /// another central hears it after half a second, on average.
  static let rotationSeconds: UInt16 = 1
  static let nameLimitBytes = 248

  var properties: Properties {
    var properties = PropertyValues<LEAdvertisement1>()
    properties.type = "peripheral"
    // As on other systems. Without the flag, a bluetoothd that looks for nothing in particular does not show the
    // device.
    properties.discoverable = true
    var interval = content.ownInterval ?? Self.intervalMilliseconds
    switch content.form {
    case .foreground:
      properties.serviceUUIDs = content.request.servicesWithRoom
      properties.localName = content.request.localName
    case .background(let company, let isSlow):
      if let company, !content.request.serviceUUIDs.isEmpty {
        properties.manufacturerData = [company: OverflowArea(services: content.request.serviceUUIDs).bytes]
      }
      if isSlow { interval = max(interval, Self.slowIntervalMilliseconds) }
    }
    properties.durationSeconds = Self.rotationSeconds
    properties.minIntervalMilliseconds = interval
    properties.maxIntervalMilliseconds = interval
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
