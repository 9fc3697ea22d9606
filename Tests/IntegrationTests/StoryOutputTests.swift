import Foundation
import ProcessTesting
import Testing

/// What a person gets from `latchkey prove`: lines on a terminal, and a picture in a browser.
@Suite("The story on a terminal and in a browser", .serialized, .timeLimit(.minutes(20)))
struct StoryOutputTests {
  /// A folder that is removed with this object.
  private final class Folder {
    let path = NSTemporaryDirectory() + "/latchkey-story-\(UUID().uuidString.prefix(8))"
    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  // `swift test` sets NO_COLOR. An empty value means nothing (no-color.org).
  private static let variables = [
    "latchkey": LatchkeyCommand.programs + "/latchkey", "TERM": "xterm", "LC_ALL": "C.UTF-8", "NO_COLOR": "",
    "LATCHKEY_SCENARIOS": LatchkeyCommand.package + "/config/scenarios",
  ]

  /// Runs a command on a terminal of its own with this many columns, by script(1).
  private func onTerminal(
    columns: Int, _ command: String, adding: [String: String] = [:]
  ) async throws -> TestProcess.Outcome {
    try await TestProcess.run(
      "/usr/bin/script",
      ["--quiet", "--return", "--command", "stty cols \(columns) rows 50; exec \(command)", "/dev/null"],
      adding: Self.variables.merging(adding) { $1 })
  }

  /// What stays on the screen: without colours, and without lines that were written again.
  private func screen(_ output: String) -> [String] {
    output.replacing(/\u{1B}\[[0-9;]*m/, with: "").components(separatedBy: "\r\n").map { line in
      line.components(separatedBy: "\r\u{1B}[K").last ?? ""
    }
  }

  @Test("A15: the story fits the terminal, in colours and with marks", arguments: [40, 80, 200])
  func widths(columns: Int) async throws {
    let outcome = try await onTerminal(columns: columns, "$latchkey prove lock-faults")
    #expect(outcome.status == 0, "\(outcome)")
    let lines = screen(outcome.output)
    let wide = lines.filter { $0.count > columns }
    #expect(wide.isEmpty, "\(wide)")
    #expect(outcome.output.contains("\u{1B}[1m") && outcome.output.contains("✓"))
    let words = lines.joined(separator: " ").split(separator: " ").joined(separator: " ")
    #expect(words.contains("the bolt is locked, because its owner has left"), "\(words)")
    #expect(words.contains("promises kept in lock-faults"))
    // The timeline is for --verbose.
    #expect(!words.contains("orchestrator"))
  }

  @Test("A15: NO_COLOR and a dumb terminal get no colours, and a terminal without UTF-8 no other characters")
  func plain() async throws {
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
      let outcome = try await onTerminal(columns: 80, "$latchkey prove open-request", adding: [name: value])
      #expect(outcome.status == 0, "\(outcome)")
      #expect(!outcome.output.contains("\u{1B}[1m") && !outcome.output.contains("\u{1B}[3"), "\(name)")
    }
    let ascii = try await onTerminal(columns: 80, "$latchkey prove open-request", adding: ["LC_ALL": "C"])
    #expect(ascii.status == 0 && ascii.output.utf8.allSatisfy { $0 < 128 }, "\(ascii.output.suffix(500))")
  }

  @Test("A15: --html writes a picture, and a file that can't be written is told before anything runs")
  func html() async throws {
    let folder = try Folder()
    let outcome = try await LatchkeyCommand.run(["prove", "open-request", "--html", "\(folder.path)/story.html"])
    #expect(outcome.status == 0, "\(outcome)")
    #expect(outcome.output.contains("the picture is in \(folder.path)/story.html"))
    let page = try String(contentsOfFile: "\(folder.path)/story.html", encoding: .utf8)
    #expect(page.hasPrefix("<!doctype html>") && page.contains("class=\"band"))
    let refused = try await LatchkeyCommand.run(["prove", "open-request", "--html", folder.path])
    #expect(refused.status == 64 && refused.errors.contains("is a folder, not a file"), "\(refused)")
  }

  @Test("A15: a report tells its story again; another file gets a clear line")
  func show() async throws {
    let folder = try Folder()
    let report = "\(folder.path)/report.json"
    let first = try await LatchkeyCommand.run(["prove", "open-request", "--json", report])
    let again = try await LatchkeyCommand.run(["show", report, "--html", "\(folder.path)/story.html"])
    #expect(first.status == 0 && again.status == 0, "\(again)")
    func verdict(_ outcome: TestProcess.Outcome) -> [Substring] {
      outcome.output.split(separator: "\n").filter { $0.contains(#/^    kept|KEPT|fingerprint|^\d+d .*/#) }
    }
    #expect(verdict(first) == verdict(again))
    #expect(FileManager.default.fileExists(atPath: "\(folder.path)/story.html"))
    let text = try String(contentsOfFile: report, encoding: .utf8)
    for (content, status, words) in [
      ("nonsense", 65, "is not a report: give the file that `latchkey prove --json` wrote"),
      (
        text.replacing("\"version\" : 2", with: "\"version\" : 3"), 65,
        "is a report of version 3, and this latchkey reads"
      ),
      (text.replacing("\"title\" : ", with: "\"titel\" : "), 65, "is a damaged report: at title"),
    ] {
      try content.write(toFile: report, atomically: true, encoding: .utf8)
      let refused = try await LatchkeyCommand.run(["show", report])
      #expect(Int(refused.status) == status && refused.errors.contains(words), "\(refused)")
      #expect(refused.errors.split(separator: "\n").count == 1)
    }
    let missing = try await LatchkeyCommand.run(["show", "/nonexistent"])
    #expect(missing.status == 66)
    #expect(missing.errors == "latchkey: /nonexistent can't be read: No such file or directory\n")
  }

  static let hasBrowser = FileManager.default.isExecutableFile(atPath: "/usr/bin/chromium")

  @Test(
    "A15: the picture works in Chromium: promises lead to their moments, the keyboard moves and zooms, nothing is requested",
    .enabled(if: hasBrowser, "needs Debian's chromium"))
  func browser() async throws {
    let folder = try Folder()
    let checker = LatchkeyCommand.package + "/scripts/check-picture"
    let page = "\(folder.path)/story.html"
    let story = try await LatchkeyCommand.run(["prove", "open-request", "--html", page])
    #expect(story.status == 0, "\(story)")
    let outcome = try await TestProcess.run("/usr/bin/python3", [checker, page])
    #expect(outcome.status == 0, "\(outcome)")

    // The check notices a page that misbehaves.
    let whole = try String(contentsOfFile: page, encoding: .utf8)
    let faults = [
      ("const draw = () => {", "const draw = () => { console.error('x');", "console: "),
      ("id=\"e", "id=\"f", "links lead nowhere"),
      ("</body>", "<img src=\"http://127.0.0.1:9/\"></body>", "127.0.0.1"),
    ]
    for (text, fault, words) in faults {
      #expect(whole.contains(text))
      try whole.replacing(text, with: fault).write(toFile: page, atomically: true, encoding: .utf8)
      let found = try await TestProcess.run("/usr/bin/python3", [checker, page])
      #expect(found.status == 1 && found.errors.contains(words), "\(found)")
    }
  }
}
