import Foundation
import Glibc

/// Where this package and its programs are.
enum Places {
  static let programs = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    .path
  static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path
}

/// A program that was run to its end.
struct Outcome: Sendable {
  var status: Int32
  var output: String
  var errors: String

  /// - Parameter environment: added to this process's own.
  static func of(_ program: String, _ arguments: [String], environment: [String: String] = [:]) throws -> Outcome {
    let process = Process()
    let (output, errors) = (Pipe(), Pipe())
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    // Both at once: who fills one pipe while nobody reads it stands still.
    let reading = DispatchQueue(label: "errors")
    nonisolated(unsafe) var errorText = Data()
    let errorHandle = errors.fileHandleForReading
    reading.async { errorText = errorHandle.readDataToEndOfFile() }
    let text = output.fileHandleForReading.readDataToEndOfFile()
    reading.sync {}
    process.waitUntilExit()
    return Outcome(
      status: process.terminationStatus, output: String(decoding: text, as: UTF8.self),
      errors: String(decoding: errorText, as: UTF8.self))
  }
}
