import Glibc
import SystemPackage

/// Why a file could not be made durable.
package struct DurableFileError: Error, Sendable, Hashable, CustomStringConvertible {
  package let path: String
  /// What was attempted, such as `rename`.
  package let call: String
  /// The kernel's error number (errno).
  package let number: Int32
  package init(path: String, call: String, number: Int32) {
    self.path = path
    self.call = call
    self.number = number
  }
  package var description: String { "\(path): \(call): \(String(cString: strerror(number)))" }
}

/// Changes of a folder that a power cut can't undo: when a call has returned, the change is on disk. Until then the
/// old content stays.
package enum DurableFile {
  /// Replaces a whole file, or creates it. `path` + ".new" is used temporarily; a file of that name is lost.
  /// - Parameter permissions: the new file's permissions.
  package static func replace(
    _ path: String, with bytes: [UInt8], permissions: mode_t = 0o600
  ) throws(DurableFileError) {
    let temporary = path + ".new"
    // Left by an earlier run, possibly with another owner or other permissions.
    unlink(temporary)
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, permissions)
    guard descriptor >= 0 else { throw failure(temporary, "open") }
    do throws(DurableFileError) {
      try write(bytes, to: descriptor, temporary)
      guard fsync(descriptor) == 0 else { throw failure(temporary, "fsync") }
    } catch {
      close(descriptor)
      unlink(temporary)
      throw error
    }
    close(descriptor)
    try rename(temporary, to: path)
  }

  /// Renames a file within its folder. A file with the new name is replaced.
  package static func rename(_ path: String, to target: String) throws(DurableFileError) {
    guard Glibc.rename(path, target) == 0 else { throw failure(path, "rename") }
    try syncFolder(of: target)
  }

  /// Removes a file. A missing file is not an error.
  package static func remove(_ path: String) throws(DurableFileError) {
    guard unlink(path) == 0 || errno == ENOENT else { throw failure(path, "unlink") }
    try syncFolder(of: path)
  }

  /// Makes the names in the folder of `path` durable: which files exist, and what they are called.
  package static func syncFolder(of path: String) throws(DurableFileError) {
    let slash = path.lastIndex(of: "/")
    let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(folder, "open") }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw failure(folder, "fsync") }
  }

  /// Makes the content of a file durable that other code has written.
  package static func sync(_ path: String) throws(DurableFileError) {
    let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { throw failure(path, "open") }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw failure(path, "fsync") }
  }

  private static func write(_ bytes: [UInt8], to descriptor: Int32, _ path: String) throws(DurableFileError) {
    do { try FileDescriptor(rawValue: descriptor).writeAll(bytes) } catch {
      throw DurableFileError(path: path, call: "write", number: (error as? Errno)?.rawValue ?? EIO)
    }
  }

  private static func failure(_ path: String, _ call: String) -> DurableFileError {
    DurableFileError(path: path, call: call, number: errno)
  }
}
