import Glibc

/// How often a thread was put on a processor or, if the kernel has no scheduler statistics, how often it left one.
struct RunCounter {
  private enum Source {
    case schedstat
    case status
  }

  private let source: Source
  private let file: ProcFile
  /// What was read last. Most threads have not run since, and an equal text need not be taken apart again.
  private var text: [UInt8] = []
  /// `.max` before it was read.
  private(set) var runs = UInt64.max
  /// Nanoseconds on processors; 0 if the kernel does not report it.
  private(set) var processorNanoseconds: UInt64 = 0

  init?(_ folder: Int32, _ thread: pid_t) {
    if let file = ProcFile(folder, "\(thread)/schedstat") {
      (source, self.file) = (.schedstat, file)
    } else if let file = ProcFile(folder, "\(thread)/status") {
      (source, self.file) = (.status, file)
    } else {
      return nil
    }
  }

  /// Reads it anew.
  ///
  /// - Returns: whether the thread ran since it was last read; `nil` once the thread is gone.
  mutating func read(_ buffer: inout ProcBuffer) -> Bool? {
    guard let length = file.read(&buffer) else { return nil }
    if buffer.starts(with: text, length) { return false }
    text = Array(buffer.bytes[..<length])
    let earlier = runs
    switch source {
    case .schedstat:
      // Time on a processor, time waiting for one, and number of runs.
      guard let first = text.firstIndex(of: UInt8(ascii: " ")), let last = text.lastIndex(of: UInt8(ascii: " ")) else {
        return nil
      }
      (runs, processorNanoseconds) = (decimalNumber(text[last...]), decimalNumber(text[..<first]))
    case .status:
      let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
      let counts = lines.filter { $0.contains("ctxt_switches:") }
      runs = counts.reduce(0) { sum, line in sum &+ decimalNumber(Array(line.utf8)[...]) }
    }
    return runs != earlier
  }
}
