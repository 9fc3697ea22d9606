import Foundation
import Testing

@testable import BlueZConformance

@Suite struct ExplanationTests {
  private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path

  @Test("H4: every explanation of a difference names a heading of docs/bluez.md")
  func headings() throws {
    let text = try String(contentsOfFile: Self.package + "/docs/bluez.md", encoding: .utf8)
    let headings = Set(
      text.split(separator: "\n").filter { $0.hasPrefix("### ") }.map { String($0.dropFirst(4)) })
    for explanation in Explanation.known { #expect(headings.contains(explanation.heading), "\(explanation)") }
  }
}
