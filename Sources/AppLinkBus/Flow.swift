/// How much an app may send before the system has handled it.
///
/// An app's library asks for a receipt from time to time and keeps the rest to itself, so that a burst waits in the
/// app's own memory and not in the system's. A client that overruns its window is disconnected.
enum Flow {
  /// How many requests the library may have sent without a receipt. A bus lets one connection wait for 128 replies at
  /// most.
  static let window: UInt64 = 64
  /// The same in bytes, as `Value.byteCount` counts them. When this many wait, nothing more is sent. 64 requests with
  /// the longest values that ATT has (512 bytes) make about a tenth of it. It is reached when an app resumes with
  /// thousands of attributes.
  static let windowBytes = 1 << 20
  /// Every request at this distance asks for a reply, and so does a request when half of the window's bytes have been
  /// sent since the last such request. The reply says that the system has handled everything up to it.
  static let receiptInterval: UInt64 = 32
  /// How many requests and queries of one connection may wait in the system.
  static let connectionLimit = 256
  /// The same in bytes: at this many, the next request is refused. This is four times what the library sends ahead.
  /// The largest message accepted has a megabyte, which is up to 6 MB of values; it is accepted while less than this
  /// limit is waiting.
  static let connectionByteLimit = 4 << 20
  /// How many requests of a connection are kept until it is accepted as an app's. An app sends one for each manager that it
  /// has made by then.
  static let earlyLimit = 32
  /// The same in bytes, as `Value.byteCount` counts them.
  static let earlyByteLimit = 64 << 10
  /// How many requests of users may wait in the system, in all. Each has texts of at most 4 kB; only a question's
  /// argument may have 64 kB.
  static let controlLimit = 256
  /// How many of them may be of one user.
  static let userControlLimit = 64
  /// How many requests may wait for the bus to say whose they are, which it does at once.
  static let unknownControlLimit = 256
  /// How many clients may watch the status, in all.
  static let watcherLimit = 64
  /// How many of them may be of one user.
  static let userWatcherLimit = 16
}

/// How much has been sent to one owner of the system's name.
struct Amount {
  var count: UInt64 = 0
  var bytes = 0
}
