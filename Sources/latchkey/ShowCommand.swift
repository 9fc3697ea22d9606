import ArgumentParser
import ConsoleOutput
import Foundation
import Stories

/// Tells a story again from its report.
struct ShowCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Tells a story again, from the report that prove or judge wrote.",
    discussion: """
      The report is the file of --json, or report.json in the folder of --keep. Exits like prove; with 65 if the file is \
      not such a report, and with 66 if it can't be read.
      """)

  @Argument(help: "The report's file.", completion: .file(extensions: ["json"]))
  var report: String

  @OptionGroup var output: ReportOptions

  /// The largest report that is read, in bytes. It has room for a year of stories, so a larger file is something else.
  private static let byteLimit = 256 << 20

  func run() throws {
    do {
      let told = try Self.read(report)
      output.tellStory(told)
      try output.tell(told)
    } catch let failure as Failure {
      Console.complain("latchkey: \(failure.words)")
      throw ExitCode(failure.status)
    } catch let failure as OutputFile.Failure {
      Console.complain("latchkey: \(failure)")
      throw ExitCode(74)
    }
  }

  struct Failure: Error {
    var words: String
    var status: Int32
  }

  static func read(_ path: String) throws(Failure) -> Report {
    let data: Data
    do {
      let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      data = try handle.read(upToCount: byteLimit + 1) ?? Data()
    } catch {
      throw Failure(words: "\(path) can't be read: \(reason(error))", status: 66)
    }
    guard data.count <= byteLimit else { throw Failure(words: "\(path) is too large for a report", status: 65) }
    let version: Report.Version
    do { version = try JSONDecoder().decode(Report.Version.self, from: data) } catch {
      throw Failure(words: "\(path) is not a report: give the file that `latchkey prove --json` wrote", status: 65)
    }
    guard version.version == Report.currentVersion else {
      throw Failure(
        words: "\(path) is a report of version \(version.version), and this latchkey reads version "
          + "\(Report.currentVersion): use the latchkey that wrote it",
        status: 65)
    }
    do { return try JSONDecoder().decode(Report.self, from: data) } catch {
      throw Failure(words: "\(path) is a damaged report: \(place(error))", status: 65)
    }
  }

  private static func reason(_ error: any Error) -> String {
    let error = error as NSError
    let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError ?? error
    return cause.domain == NSPOSIXErrorDomain
      ? String(cString: strerror(Int32(cause.code))) : error.localizedDescription
  }

  /// Where a report is damaged, in a line.
  private static func place(_ error: any Error) -> String {
    guard let error = error as? DecodingError else { return "\(error)" }
    let path: [any CodingKey] =
      switch error {
      case .keyNotFound(let key, let context): context.codingPath + [key]
      case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
        context.codingPath
      @unknown default: []
      }
    let words = path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
    return words.isEmpty ? "a value in it can't be read" : "at \(words)"
  }
}
