import BlueZ
import BluetoothTypes
import BusValue
import CBluetooth
import Glibc

/// The RSSI of a live connection, asked of the controller itself: D-Bus has no such method (Bluetooth Core,
/// Vol 4, Part E, 7.5.4). It takes no capability: the kernel lets anybody list connections and send Read RSSI, which is
/// on its list of harmless commands (hci_sec_filter, net/bluetooth/hci_sock.c). It takes the address family
/// AF_BLUETOOTH, which is there in the first network namespace alone.
enum ControllerSignalStrength {
  /// How long a controller may take to answer.
  private static let timeoutMilliseconds: Int32 = 1000

  /// Asks on a thread of its own; `completion` is called there, with dBm.
  static func read(
    devicePath: ObjectPath, address: DeviceAddress?,
    completion: @escaping @Sendable (Result<Int8, BlueZError>) -> Void
  ) {
    guard let adapter = adapterNumber(of: devicePath), let address = address ?? self.address(in: devicePath) else {
      return completion(.failure(.unknownObject(devicePath)))
    }
    let error = ShortThread.start { completion(read(adapter: adapter, address: address)) }
    if error != 0 {
      completion(.failure(.failed("no thread to ask hci\(adapter): \(String(cString: strerror(error)))")))
    }
  }

  private static func read(adapter: Int32, address: DeviceAddress) -> Result<Int8, BlueZError> {
    func failure(_ what: String, _ error: Int32) -> Result<Int8, BlueZError> {
      .failure(.failed("\(what) hci\(adapter): \(String(cString: strerror(error)))"))
    }
    let socket = hci_open_dev(adapter)
    guard socket >= 0 else {
      let error = errno
      guard error == EAFNOSUPPORT || error == EPERM else { return failure("open", error) }
      return .failure(
        .failed(
          "no Bluetooth sockets here (\(String(cString: strerror(error)))): the RSSI of hci\(adapter)'s links is unknown"
        ))
    }
    defer { hci_close_dev(socket) }
    let bytes = (0..<6).map { UInt8(truncatingIfNeeded: address.bits >> (8 * UInt64($0))) }
    let handle = latchkey_le_connection_handle(socket, adapter, bytes)
    if handle == -ENOTCONN { return .failure(.notConnected) }
    if handle == -EPROTOTYPE { return .failure(.failed("the device is connected over BR/EDR, not LE")) }
    guard handle >= 0 else { return failure("list the connections of", -handle) }
    var rssi: Int8 = 0
    guard hci_read_rssi(socket, UInt16(truncatingIfNeeded: handle), &rssi, timeoutMilliseconds) >= 0 else {
      return failure("read the RSSI from", errno)
    }
    // The controller's word for "can't tell".
    guard rssi != 127 else { return .failure(.failed("the controller can't tell the RSSI")) }
    return .success(rssi)
  }

  /// `/org/bluez/hci0/dev_…`: 0.
  private static func adapterNumber(of path: ObjectPath) -> Int32? {
    guard let name = path.parent?.lastComponent, name.hasPrefix("hci") else { return nil }
    return Int32(name.dropFirst(3))
  }

  private static func address(in path: ObjectPath) -> DeviceAddress? {
    guard path.lastComponent.hasPrefix("dev_") else { return nil }
    let text = path.lastComponent.dropFirst(4).split(separator: "_").joined(separator: ":")
    return DeviceAddress(text, kind: .public)
  }
}
