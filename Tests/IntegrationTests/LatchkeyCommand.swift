import Foundation
import Glibc

/// The `latchkey` command as a person runs it, with a folder of its own for what it leaves behind.
final class LatchkeyCommand {
  struct Outcome {
    var status: Int32
    var output: String
    var errors: String
  }

  /// Where it makes its temporary files: empty again when it has cleaned up.
  let temporaryFolder: String
  private let process = Process()
  private let output = Pipe()
  private let errors = Pipe()
  private var seen = ""

  static let programs = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    .path
  static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path

  init(_ arguments: [String]) throws {
    var template = Array("/tmp/latchkey-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
    temporaryFolder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    process.executableURL = URL(fileURLWithPath: Self.programs + "/latchkey")
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging([
      "TMPDIR": temporaryFolder, "LATCHKEY_SCENARIOS": Self.package + "/config/scenarios",
    ]) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = errors
    try process.run()
  }

  deinit {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    try? FileManager.default.removeItem(atPath: temporaryFolder)
  }

  func signal(_ number: Int32) { kill(process.processIdentifier, number) }

  /// Reads on until the output has this text; `false` where it ends without.
  func waitForOutput(_ text: String) -> Bool {
    while !seen.contains(text) {
      let data = output.fileHandleForReading.availableData
      if data.isEmpty { return false }
      seen += String(decoding: data, as: UTF8.self)
    }
    return true
  }

  /// Reads everything to the end. Its guardian holds the error output too: when that ends, both have ended.
  func finish() -> Outcome {
    seen += String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let errorText = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return Outcome(status: process.terminationStatus, output: seen, errors: errorText)
  }

  /// Processes that carry the mark of any world that this command made.
  func processesLeft() -> [String] {
    let mark = "LATCHKEY_WORLD=\(process.processIdentifier)-"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.filter { name in
      guard Int32(name) != nil, let data = FileManager.default.contents(atPath: "/proc/\(name)/environ") else {
        return false
      }
      return data.split(separator: 0).contains { String(decoding: $0, as: UTF8.self).hasPrefix(mark) }
    }
  }

  func filesLeft() -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: temporaryFolder)) ?? []
  }
}
