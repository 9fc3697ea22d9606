import BlueZ
import BluetoothTypes
import BusValue
import CBluetooth
import Glibc
import Synchronization
import Threads

/// The RSSI of a live connection, read from the controller itself (Bluetooth Core, Vol 4, Part E, 7.5.4), because
/// D-Bus has no method for it. This needs no capability: any process may list connections and send Read RSSI, which
/// is on the kernel's list of harmless commands (hci_sec_filter, net/bluetooth/hci_sock.c). It does need the address
/// family AF_BLUETOOTH, which exists only in the first network namespace.
enum ControllerSignalStrength {
  /// How long a controller may take to answer.
  private static let timeoutMilliseconds: Int32 = 1000

  /// The readings under way, each with a thread and a socket, and those that wait.
  private struct Work: Sendable {
    var running = 0
    var waiting: ArraySlice<@Sendable () -> Void> = []
  }
  private static let work = Mutex(Work())
  static let threadLimit = 4
  private static let waitingLimit = 256

  /// Reads the signal on one of a few other threads. `completion` is called there, with dBm.
  static func read(
    devicePath: ObjectPath, address: DeviceAddress?,
    completion: @escaping @Sendable (Result<Int8, BlueZError>) -> Void
  ) {
    guard let adapter = devicePath.parent?.adapterNumber,
      let address = address ?? devicePath.deviceAddress(kind: .public)
    else {
      return completion(.failure(.unknownObject(devicePath)))
    }
    perform(
      { completion(read(adapter: adapter, address: address)) },
      otherwise: { completion(.failure(.failed("hci\(adapter) can't be asked: \($0)"))) })
  }

  /// Runs a job soon, on one of a few threads.
  static func perform(_ job: @escaping @Sendable () -> Void, otherwise refuse: (String) -> Void) {
    enum Place { case thread, line, none }
    let place = work.withLock { work -> Place in
      if work.running < threadLimit {
        work.running += 1
        return .thread
      }
      guard work.waiting.count < waitingLimit else { return .none }
      work.waiting.append(job)
      return .line
    }
    switch place {
    case .line: return
    case .none: return refuse("too many ask already")
    case .thread: break
    }
    do {
      try DetachedThread.start {
        var next: (@Sendable () -> Void)? = job
        while let job = next {
          job()
          next = work.withLock { work in
            let next = work.waiting.popFirst()
            if next == nil { work.running -= 1 }
            return next
          }
        }
      }
    } catch {
      // Waiting jobs are run by the next thread, or by one that is running.
      work.withLock { $0.running -= 1 }
      refuse(String(cString: strerror(error.number)))
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
    // 127 means that the controller can't tell.
    guard rssi != 127 else { return .failure(.failed("the controller can't tell the RSSI")) }
    return .success(rssi)
  }
}
