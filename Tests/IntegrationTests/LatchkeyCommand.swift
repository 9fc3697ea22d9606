import Foundation
import Glibc
import ProcessTesting
import Stories

/// The `latchkey` command as a person runs it, with a folder of its own for temporary files.
final class LatchkeyCommand: Sendable {
  /// The folder for its temporary files. It is empty again when the command has cleaned up.
  let temporaryFolder: String
  private let process: TestProcess

  static let programs = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    .path
  static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path

  init(_ arguments: [String]) async throws {
    var template = Array("/tmp/latchkey-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
    temporaryFolder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    process = try await TestProcess(
      Self.programs + "/latchkey", arguments,
      environment: TestProcess.inherited.merging([
        "TMPDIR": temporaryFolder, "LATCHKEY_SCENARIOS": Self.package + "/config/scenarios",
      ]) { $1 })
    process.closeInput()
  }

  deinit { try? FileManager.default.removeItem(atPath: temporaryFolder) }

  /// Runs it until it ends.
  static func run(_ arguments: [String]) async throws -> TestProcess.Outcome {
    try await LatchkeyCommand(arguments).finish()
  }

  /// Tells a story, and reads its report.
  /// - Parameter story: the text of a scenario's file.
  static func prove(_ story: String) async throws -> (report: Report, outcome: TestProcess.Outcome) {
    let folder = NSTemporaryDirectory() + "/latchkey-story-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try story.write(toFile: folder + "/story.yaml", atomically: true, encoding: .utf8)
    let outcome = try await run(["prove", folder + "/story.yaml", "--json", folder + "/report"])
    guard let data = FileManager.default.contents(atPath: folder + "/report") else {
      throw TestProcess.Failure("no report: \(outcome.output)\n\(outcome.errors)")
    }
    return (try JSONDecoder().decode(Report.self, from: data), outcome)
  }

  func signal(_ number: Int32) { process.signal(number) }

  /// Reads until the output contains this text.
  ///
  /// - Throws: `TestProcess.Failure` if the output ends without it.
  func hear(_ text: String) async throws { try await process.hear(text) }

  /// Reads everything to the end. Its guardian holds the error output too, so at the end both have ended.
  func finish() async throws -> TestProcess.Outcome { try await process.finish() }

  /// Processes with the mark of any world that this command made.
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
