/// How much an app may say before the system has dealt with it.
///
/// An app's library asks for a receipt now and then and keeps the rest to itself, so that a burst waits in the app's own
/// memory and not in the system's. Who does not wait is cut off.
enum Flow {
  /// Requests that the library has out. A bus lets one connection wait for 128 replies at most.
  static let window: UInt64 = 64
  /// Each so-many-th request of the library's asks for a reply, which says that the system has dealt with it.
  static let receiptInterval: UInt64 = 32
  /// Requests and queries of one connection that wait in the system.
  static let connectionLimit = 256
  /// The user's requests that wait in the system, whoever says them.
  static let controlLimit = 64
}
