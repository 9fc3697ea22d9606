import Glibc

/// A buffer for reading from /proc, used again and again.
struct ProcBuffer {
  fileprivate(set) var bytes = [UInt8](repeating: 0, count: 8192)
  /// Why something that exists could not be opened. Something that has gone is not a failure.
  private(set) var failure: Int32?

  /// Notes the error number if this process has no room for another open file. Other errors mean that the file has
  /// gone.
  mutating func note(_ number: Int32) {
    if number == EMFILE || number == ENFILE || number == ENOMEM { failure = number }
  }

  /// Whether the first `length` bytes are `text`, and `text` is no longer.
  func starts(with text: [UInt8], _ length: Int) -> Bool { text.count == length && memcmp(text, bytes, length) == 0 }
}

/// One open file of /proc.
final class ProcFile {
  private let file: Int32

  init?(_ folder: Int32, _ path: String) {
    file = openat(folder, path, O_RDONLY | O_CLOEXEC)
    if file < 0 { return nil }
  }

  deinit { close(file) }

  /// Reads its present content into the buffer, as far as it has room.
  ///
  /// - Returns: its length, or `nil` once the thread is gone.
  func read(_ buffer: inout ProcBuffer) -> Int? {
    let count = pread(file, &buffer.bytes, buffer.bytes.count, 0)
    return count > 0 ? count : nil
  }

  /// Its present content, or `nil` once the thread is gone.
  func readText(_ buffer: inout ProcBuffer) -> ArraySlice<UInt8>? {
    read(&buffer).map { buffer.bytes[..<$0] }
  }

  /// All numbers in it, whatever its length.
  func readNumbers(_ buffer: inout ProcBuffer) -> [pid_t] {
    var text: [UInt8] = []
    while true {
      let count = pread(file, &buffer.bytes, buffer.bytes.count, off_t(text.count))
      guard count > 0 else { break }
      text += buffer.bytes[..<count]
    }
    return text.split(separator: UInt8(ascii: " ")).compactMap { pid_t(exactly: decimalNumber($0)) }.filter { $0 > 0 }
  }
}

/// The decimal digits of `text` as a number, ignoring other characters.
func decimalNumber(_ text: ArraySlice<UInt8>) -> UInt64 {
  text.reduce(0) { value, byte in
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") ? value &* 10 &+ UInt64(byte - UInt8(ascii: "0")) : value
  }
}

/// The names in a folder of /proc that are numbers.
func numbers(in folder: Int32, _ buffer: inout ProcBuffer) -> [pid_t] {
  // A separate descriptor, because a directory stream takes ownership of it and of its position.
  let copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  guard copy >= 0, let stream = fdopendir(copy) else {
    buffer.note(errno)
    return []
  }
  defer { closedir(stream) }
  var result: [pid_t] = []
  while let entry = readdir(stream) {
    let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
      pointer.withMemoryRebound(to: CChar.self, capacity: 256) { atoi($0) }
    }
    if name > 0 { result.append(name) }
  }
  return result
}

/// The processes that this one has started and that have not been waited for, orphans that it adopted included.
///
/// The kernel lists them under the lock under which a process ends. So if a process is seen to have ended, its
/// parent, and everything that waited for the end, has been told before this returns.
func ownChildren(_ buffer: inout ProcBuffer) -> [pid_t] {
  let folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  guard folder >= 0 else {
    buffer.note(errno)
    return []
  }
  defer { close(folder) }
  return numbers(in: folder, &buffer).flatMap { thread -> [pid_t] in
    errno = 0
    guard let file = ProcFile(folder, "\(thread)/children") else {
      buffer.note(errno)
      return []
    }
    return file.readNumbers(&buffer)
  }
}
