/// What an app has been told of a device's advertisements. Not all of it comes at once: a name is as a rule in the scan response, which
/// may be lost. What is there for the first time is news; what only changes is not.
package struct ToldAdvertisement: Sendable, Hashable {
  private struct Parts: OptionSet, Hashable {
    let rawValue: UInt8
    static let localName = Parts(rawValue: 1)
    static let transmitPowerLevel = Parts(rawValue: 2)
    static let serviceData = Parts(rawValue: 4)
    static let manufacturerData = Parts(rawValue: 8)
  }

  private var parts: Parts = []
  /// Offered, solicited, and in the overflow area.
  private var services: Set<BluetoothUUID> = []
  /// A device that names ever other services is news no more.
  private static let serviceLimit = 32

  package init() {}

  /// The app will be told of this. Returns whether any of it is news.
  package mutating func takes(_ advertisement: AdvertisementData) -> Bool {
    var shown: Parts = []
    if advertisement.localName != nil { shown.insert(.localName) }
    if advertisement.transmitPowerLevel != nil { shown.insert(.transmitPowerLevel) }
    if !advertisement.serviceData.isEmpty { shown.insert(.serviceData) }
    if !advertisement.manufacturerData.isEmpty { shown.insert(.manufacturerData) }
    var isNews = !shown.isSubset(of: parts)
    parts.formUnion(shown)
    for uuids in [advertisement.serviceUUIDs, advertisement.solicitedServiceUUIDs, advertisement.overflowServiceUUIDs] {
      for uuid in uuids where services.count < Self.serviceLimit && services.insert(uuid).inserted { isNews = true }
    }
    return isNews
  }
}
