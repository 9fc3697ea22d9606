import BlueZ
import BluetoothTypes
import BusValue

/// The properties of Device1, and the icon that bluetoothd derives from an appearance.
extension Device {
  func properties(of adapter: ObjectPath) -> Properties {
    var properties = PropertyValues<Device1>(minimumCapacity: 24)
    properties.address = address.description
    properties.addressType = address.kind
    properties.alias =
      alias ?? name ?? address.text(separator: "-")
    properties.paired = isPaired
    properties.bonded = bond != nil
    properties.trusted = isTrusted
    properties.blocked = isBlocked
    properties.legacyPairing = false
    properties.connected = link != nil
    properties.uuids = uuids
    properties.adapter = adapter
    properties.servicesResolved = isResolved
    properties.name = name
    properties.modalias = modalias
    properties.appearance = appearance
    properties.icon = appearance.flatMap(Self.icon)
    properties.rssi = rssi
    properties.txPower = advertised.transmitPowerLevel
    properties.advertisingFlags = advertised.flags.map { [$0] }
    if !advertised.manufacturerData.isEmpty { properties.manufacturerData = advertised.manufacturerData }
    if !advertised.serviceData.isEmpty { properties.serviceData = advertised.serviceData }
    if !otherStructures.isEmpty { properties.advertisingData = otherStructures }
    return properties.all
  }

  /// The icon that bluetoothd has for an appearance (src/dbus-common.c): by category and, for input devices, by kind.
  static func icon(_ appearance: UInt16) -> String? {
    switch (appearance >> 6, appearance & 0x3F) {
    case (0, _): "unknown"
    case (1, _): "phone"
    case (2, _): "computer"
    case (5, _): "video-display"
    case (10, _): "multimedia-player"
    case (11, _), (15, 8): "scanner"
    case (15, 1): "input-keyboard"
    case (15, 2): "input-mouse"
    case (15, 3), (15, 4): "input-gaming"
    case (15, 5): "input-tablet"
    default: nil
    }
  }
}
