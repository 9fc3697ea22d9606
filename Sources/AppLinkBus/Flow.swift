/// How much an app may say before the system has dealt with it.
///
/// An app's library asks for a receipt now and then and keeps the rest to itself, so that a burst waits in the app's own
/// memory and not in the system's. A client that overruns its window is disconnected.
enum Flow {
  /// Requests that the library has out. A bus lets one connection wait for 128 replies at most.
  static let window: UInt64 = 64
  /// And bytes, as `Value.byteCount` counts: while so many are out no more are sent. 64 requests with the longest values
  /// that ATT has (512 bytes) are a tenth of it; it is reached by what an app resumes with, thousands of attributes.
  static let windowBytes = 1 << 20
  /// Each so-many-th request of the library's asks for a reply, which says that the system has dealt with it; and each with
  /// which half of the window's bytes are out since the last.
  static let receiptInterval: UInt64 = 32
  /// Requests and queries of one connection that wait in the system.
  static let connectionLimit = 256
  /// And their bytes: while so many wait the next is refused. Four times what the library has out. The largest message that
  /// is taken has a megabyte, which is up to 6 MB of values; it fits in where less than this waits.
  static let connectionByteLimit = 4 << 20
  /// The user's requests that wait in the system, whoever says them. Each has a text of 4 kB at most.
  static let controlLimit = 64
}
