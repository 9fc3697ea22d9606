import ArgumentParser
import Foundation
import Glibc

/// A file that an option names, to be written at the end of a run.
struct OutputFile {
  let path: String
  /// As the user wrote it: `--json`.
  let option: String

  init(_ path: String, option: String) {
    self.path = path
    self.option = option
  }

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// - Throws: `ValidationError` if it is already clear that it can't be written.
  func check() throws {
    guard !path.isEmpty else { throw ValidationError("\(option) needs the name of a file") }
    var isFolder: ObjCBool = false
    if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) {
      guard !isFolder.boolValue else { throw ValidationError("\(option): \(path) is a folder, not a file") }
      guard access(path, W_OK) == 0 else { throw ValidationError("\(option): \(path) can't be written to") }
      return
    }
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    guard FileManager.default.fileExists(atPath: folder) else {
      throw ValidationError("\(option): there is no folder \(folder)")
    }
    guard access(folder, W_OK) == 0 else {
      throw ValidationError("\(option): the folder \(folder) can't be written to")
    }
  }

  /// - Throws: `Failure`, with the system's reason.
  func write(_ content: Data) throws {
    let bytes = Array(content)
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw failure() }
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let failure = failure()
        close(file)
        throw failure
      }
      written += count
    }
    guard close(file) == 0 else { throw failure() }
  }

  private func failure() -> Failure {
    Failure(description: "\(option): \(path) can't be written: \(String(cString: strerror(errno)))")
  }
}
