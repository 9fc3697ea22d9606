import APIUses
import Foundation
import Testing

/// The list of Apple's declarations, and the uses of them that `scripts/generate-api-uses` wrote and the compiler took.
@Suite("The API's list")
struct APIListTests {
  private static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("AppCode/API/symbols.txt")

  private func lines() throws -> [String] {
    try String(contentsOf: Self.file, encoding: .utf8).split(separator: "\n").map(String.init)
      .filter { !$0.hasPrefix("#") }
  }

  @Test("C1–C8: every declaration of the list is used, with its types, labels and default arguments")
  func everyDeclaration() throws {
    let declarations = try lines().filter { $0.contains(" : ") }
      .map { $0.replacingOccurrences(of: "  (deprecated)", with: "") }
    let uses = APIUses().uses
    #expect(declarations.count == 375)
    #expect(Set(declarations).subtracting(uses).sorted() == [])
    #expect(Set(uses).subtracting(declarations).sorted() == [])
    #expect(uses.count == declarations.count)
  }

  @Test("C8: every raw value is Apple's")
  func rawValues() throws {
    let uses = APIUses()
    #expect(uses.wrongRawValues == [])
    #expect(uses.comparedCount == (try lines().filter { $0.contains(" = ") && !$0.contains(" : ") }.count))
    #expect(uses.comparedCount == 91)
  }

  @Test("C8: what Apple's list has as read-only can't be set")
  func readOnly() { #expect(APIUses().wronglyWritable == []) }
}
