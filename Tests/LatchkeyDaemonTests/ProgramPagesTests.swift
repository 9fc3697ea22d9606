import Foundation
import Testing

@testable import LatchkeyDaemon

@Suite("The pages of the program's code")
struct ProgramPagesTests {
  /// Resident kilobytes of all code that is mapped from files.
  private func residentCode() throws -> Int {
    var isCode = false
    var sum = 0
    for line in try String(contentsOfFile: "/proc/self/smaps", encoding: .utf8).split(separator: "\n") {
      let fields = line.split(separator: " ")
      if fields.count >= 5, fields[0].contains("-") { isCode = fields[1] == "r-xp" && fields.count >= 6 }
      if isCode, fields.first == "Rss:" { sum += Int(fields[1]) ?? 0 }
    }
    return sum
  }

  @Test("H3: what only the start needed is given back, and what runs on is mapped again")
  func givenBack() throws {
    let before = try residentCode()
    ProgramPages.giveBack()
    let after = try residentCode()
    #expect(after < before / 2, "\(before) KiB before, \(after) KiB after")
  }
}
