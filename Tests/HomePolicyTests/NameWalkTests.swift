import LockProtocol
import Testing

@testable import latchkey_agent

/// A phone reads the names that its lock knows, page after page.
@Suite("A lock's names, as a phone reads them") struct NameWalkTests {
  private func name(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) + [1, 65 + number % 26] }

  private func page(_ numbers: ClosedRange<UInt8>, of count: UInt8) -> [UInt8] {
    [count, UInt8(numbers.count)] + numbers.flatMap(name)
  }

  @Test("L5: all pages of names are read, from where the page before ended") func pages() throws {
    var walk = NameWalk()
    try walk.take(page(1...32, of: 40))
    #expect(!walk.isOver && walk.next == 32)
    try walk.take(page(33...40, of: 40))
    #expect(walk.isOver && walk.names.count == 40)
  }

  @Test("L5: a list that has become shorter, or is longer than can be asked for, ends") func ends() throws {
    var walk = NameWalk()
    try walk.take(page(1...2, of: 3))
    try walk.take([2, 0])
    #expect(walk.isOver && walk.names.count == 2)
    walk = NameWalk()
    for _ in 0..<8 { try walk.take(page(1...32, of: 255)) }
    #expect(walk.isOver)
  }

  @Test("L5: a page of names that can't be read is an error, and not the end of the list", arguments: [0, 1, 2, 3])
  func unreadable(kind: Int) throws {
    let good = page(1...2, of: 2)
    let bad = [Array(good.dropLast()), good + [0], [], [2, 33] + good.dropFirst(2)][kind]
    var walk = NameWalk()
    #expect(throws: LockMessageError.self) { try walk.take(bad) }
    #expect(!walk.isOver && walk.names.isEmpty)
  }
}
