import Glibc

/// How many files this process may have open.
enum OpenFiles {
  /// What a world of two machines takes, with room to spare: three for each thread that is watched.
  static let leastForAWorld = 512

  /// Raises the limit as far as this user may: the usual one stems from a time when programs could not have more.
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

  /// - Throws: `WorldError` where a world needs more of them than it may get.
  static func require() throws {
    let limit = allowMost()
    guard limit >= leastForAWorld else {
      throw WorldError(
        "only \(limit) files may be open at a time, and a run needs \(leastForAWorld): raise the limit (`ulimit -Hn`)")
    }
  }

  private static var resource: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
}
