import Glibc

/// The limit on open files of this process.
enum OpenFiles {
  /// The least number of open files with which a world of two machines can run. Each watched thread takes up to four:
  /// its state, its run count, where it is blocked, and its children.
  static let leastForAWorld = 512

  /// Raises the limit as far as this user may. The default dates from a time when programs could not handle more.
  @discardableResult
  static func allowMost() -> UInt {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return 0 }
    if limit.rlim_cur < limit.rlim_max {
      limit.rlim_cur = limit.rlim_max
      _ = setrlimit(resource, &limit)
    }
    return getrlimit(resource, &limit) == 0 ? UInt(limit.rlim_cur) : 0
  }

  /// - Throws: `WorldError` if a world needs more than the limit.
  static func require() throws {
    let limit = allowMost()
    guard limit >= leastForAWorld else {
      throw WorldError(
        "only \(limit) files may be open at a time, and a run needs \(leastForAWorld): raise the limit (`ulimit -Hn`)")
    }
  }

  private static var resource: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
}
