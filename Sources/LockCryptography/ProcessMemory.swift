import Foundation

/// Keeps keys that a process has in its memory out of files.
public enum ProcessMemory {
  /// From here on no core file is written of this process, nor does systemd-coredump keep one: it heeds the same limit.
  public static func keepOutOfCoreFiles() {
    var limit = rlimit(rlim_cur: 0, rlim_max: 0)
    // It only ever goes down, which nobody is refused.
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
  }

  /// Overwrites bytes that held a key. What was copied out of them before is not reached.
  static func wipe(_ data: inout Data) { data.resetBytes(in: data.startIndex..<data.endIndex) }

  static func wipe(_ bytes: inout [UInt8]) {
    for index in bytes.indices { bytes[index] = 0 }
  }
}
