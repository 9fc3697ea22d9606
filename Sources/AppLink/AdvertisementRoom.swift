import BluetoothTypes

extension AdvertisementRequest {
  /// An advertisement has 31 bytes, and its flags take three.
  private static let room = 28

  /// The services that are advertised while the app is open: in the app's order, those that have room beside the ones before them. bluetoothd refuses
  /// an advertisement that is too long as a whole. Apple's page on `startAdvertising(_:)` has the same 28 bytes; services without room are found by
  /// special scans alone there, and advertising begins all the same.
  package var servicesWithRoom: [BluetoothUUID] {
    var (left, lists) = (Self.room, Set<Int>())
    var found: [BluetoothUUID] = []
    for service in serviceUUIDs where !found.contains(service) {
      // The services of one length are one list, which begins with its length and its type.
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
