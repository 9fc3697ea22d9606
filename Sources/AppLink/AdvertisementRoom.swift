import BluetoothTypes

extension AdvertisementRequest {
  /// An advertisement has 31 bytes, and its flags take three.
  private static let room = 28

  /// The services that are advertised while the app is in the foreground: in the app's order, each that still has room
  /// beside those before it. Without this choice, bluetoothd would refuse the whole advertisement if it is too long.
  /// Apple's page on `startAdvertising(_:)` gives the same 28 bytes. There, only special scans find services without
  /// room, and advertising begins all the same.
  package var servicesWithRoom: [BluetoothUUID] {
    var (left, lists) = (Self.room, Set<Int>())
    var found: [BluetoothUUID] = []
    for service in serviceUUIDs where !found.contains(service) {
      // UUIDs of the same length share one list, which begins with a byte for its length and one for its type.
      let length = service.littleEndianBytes.count
      let cost = length + (lists.contains(length) ? 0 : 2)
      guard cost <= left else { continue }
      left -= cost
      lists.insert(length)
      found.append(service)
    }
    return found
  }
}
