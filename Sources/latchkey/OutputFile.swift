import ArgumentParser
import Foundation
import Glibc
import SystemPackage

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
    do {
      let file = try FileDescriptor.open(
        path, .writeOnly, options: [.create, .truncate, .closeOnExec],
        permissions: [.ownerReadWrite, .groupRead, .otherRead])
      try file.closeAfter { _ = try file.writeAll(content) }
    } catch {
      throw Failure(description: "\(option): \(path) can't be written: \(error)")
    }
  }
}
