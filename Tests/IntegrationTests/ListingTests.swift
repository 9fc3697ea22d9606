import Foundation
import ProcessTesting
import Testing

/// The listings in README.md and docs are what the commands print today.
@Suite("Listings in the documentation", .timeLimit(.minutes(20)))
struct ListingTests {
  /// A block of indented lines after `<!-- listing: latchkey … -->`.
  struct Listing: Sendable, CustomStringConvertible {
    var file: String
    var command: String
    var lines: [String]

    var description: String { "\(file): \(command)" }
  }

  static let listings: [Listing] = {
    let docs = (try? FileManager.default.contentsOfDirectory(atPath: LatchkeyCommand.package + "/docs")) ?? []
    let files = ["README.md"] + docs.filter { $0.hasSuffix(".md") }.sorted().map { "docs/\($0)" }
    return files.flatMap { file in
      let text = (try? String(contentsOfFile: "\(LatchkeyCommand.package)/\(file)", encoding: .utf8)) ?? ""
      return listings(in: text, file: file)
    }
  }()

  static func listings(in text: String, file: String) -> [Listing] {
    var found: [Listing] = []
    var isInside = false
    for line in text.components(separatedBy: "\n") {
      if let match = line.wholeMatch(of: /<!-- listing: (.+) -->/) {
        found.append(Listing(file: file, command: String(match.1), lines: []))
        isInside = true
      } else if isInside, line.hasPrefix("    ") {
        found[found.count - 1].lines.append(String(line.dropFirst(4)))
      } else if isInside, !line.isEmpty {
        isInside = false
      }
    }
    return found
  }

  /// Whether the output has these lines in this order. A line `…` stands for any number of lines, and the real time that a
  /// run took may differ. Returns the first line that is not there.
  static func missing(_ lines: [String], in output: String) -> String? {
    func timeless(_ line: some StringProtocol) -> String {
      String(line).replacing(/virtual time in .*/, with: "virtual time in")
    }
    let printed = output.split(separator: "\n").map(timeless)
    var next = 0
    var mayskip = false
    for line in lines.map(timeless) {
      if line.trimmingCharacters(in: .whitespaces) == "…" {
        mayskip = true
        continue
      }
      guard let index = printed[next...].firstIndex(of: line), mayskip || index == next else { return line }
      next = index + 1
      mayskip = false
    }
    return mayskip || next == printed.count ? nil : "the end of the output"
  }

  @Test("A15: every listing is what its command prints", arguments: listings)
  func listing(_ listing: Listing) async throws {
    let words = listing.command.split(separator: " ").map(String.init)
    #expect(words.first == "latchkey" && listing.lines.count > 3)
    let outcome = try await LatchkeyCommand.run(Array(words.dropFirst()))
    let missing = Self.missing(listing.lines, in: outcome.output)
    #expect(missing == nil, "\(listing.file) has a line that is not printed: \(missing ?? "")\n\(outcome.output)")
  }

  @Test("A15: a stale listing is noticed")
  func stale() {
    let output = "a\nb\nc\n1 h of virtual time in 3 s\n"
    #expect(Self.missing(["a", "…", "c", "1 h of virtual time in 9.5 s"], in: output) == nil)
    #expect(Self.missing(["a", "c", "…"], in: output) == "c")
    #expect(Self.missing(["a", "…", "d"], in: output) == "d")
    #expect(Self.missing(["a", "b"], in: output) == "the end of the output")
    #expect(!Self.listings.isEmpty)
    #expect(
      Self.listings(in: "x\n<!-- listing: latchkey a -->\n\n    b\n    c\nd\n    e\n", file: "f")[0].lines == [
        "b", "c",
      ])
  }
}
