import ArgumentParser
import ConsoleOutput
import Foundation
import Glibc
import Stories

/// The file that `--json` names.
struct ReportFile {
  let path: String

  init(_ path: String) { self.path = path }

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Prints the timeline and the verdict, and writes them to the file that `--json` names.
  ///
  /// - Throws: `ExitCode` 1 if a promise was not kept.
  static func tell(_ report: Report, json: String?) throws {
    Console.say(report.text())
    if let json { try ReportFile(json).write(report) }
    Console.end(program: "latchkey")
    if !report.kept { throw ExitCode(1) }
  }

  /// - Throws: `ValidationError` if it is already clear that it can't be written.
  func check() throws {
    guard !path.isEmpty else { throw ValidationError("--json needs the name of a file") }
    var isFolder: ObjCBool = false
    if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) {
      guard !isFolder.boolValue else { throw ValidationError("--json: \(path) is a folder, not a file") }
      guard access(path, W_OK) == 0 else { throw ValidationError("--json: \(path) can't be written to") }
      return
    }
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    guard FileManager.default.fileExists(atPath: folder) else {
      throw ValidationError("--json: there is no folder \(folder)")
    }
    guard access(folder, W_OK) == 0 else { throw ValidationError("--json: the folder \(folder) can't be written to") }
  }

  /// - Throws: `Failure`, with the system's reason.
  func write(_ report: Report) throws {
    let bytes = Array(try report.json())
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
    Failure(description: "--json: \(path) can't be written: \(String(cString: strerror(errno)))")
  }
}
