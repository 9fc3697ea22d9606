import Foundation

/// Keeps keys in a process's memory out of files.
package enum ProcessMemory {
  /// From now on, no core file of this process is written. systemd-coredump keeps none either, because it respects
  /// the same limit.
  package static func keepOutOfCoreFiles() {
    var limit = rlimit(rlim_cur: 0, rlim_max: 0)
    // The limit is only lowered, which is always allowed.
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
  }

  /// Overwrites bytes that held a key. Earlier copies of them are not affected.
  static func wipe(_ data: inout Data) { data.resetBytes(in: data.startIndex..<data.endIndex) }

  static func wipe(_ bytes: inout [UInt8]) {
    for index in bytes.indices { bytes[index] = 0 }
  }
}
