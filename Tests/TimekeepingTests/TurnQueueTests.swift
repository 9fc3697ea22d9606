import Testing
import TimeTypes

@testable import Timekeeping

/// Which of the things that were said at one moment comes first.
@Suite("Turns of one moment of a world") struct TurnQueueTests {
  typealias Source = TurnQueue<String>.Source

  private static let moment = Instant.zero + .seconds(5)
  private static let said: [(source: Source, text: String)] = [
    (Source(group: "door", name: ":1.9"), "door 9, first"),
    (Source(group: "phone", name: ":1.2"), "phone 2, first"),
    (Source(group: "door", name: ":1.10"), "door 10, first"),
    (Source(group: "door", name: ":1.9"), "door 9, second"),
    (Source(group: "phone", name: ":1.2"), "phone 2, second"),
  ]

  private func turns(_ order: [Int]) -> [[String]] {
    var queue = TurnQueue<String>()
    for index in order { queue.add(Self.said[index].text, from: Self.said[index].source) }
    var turns: [[String]] = []
    while !queue.isEmpty { turns.append(queue.nextTurn(at: Self.moment)) }
    return turns
  }

  @Test("A4: what several clients say at one moment is handled in one order, whoever was faster")
  func order() {
    let expected = [
      ["door 9, first", "phone 2, first"], ["door 9, second", "phone 2, second"], ["door 10, first"],
    ]
    for order in [[0, 1, 2, 3, 4], [2, 0, 3, 1, 4], [1, 4, 0, 3, 2], [0, 3, 2, 1, 4]] {
      #expect(turns(order) == expected)
    }
  }

  @Test("A4: what comes first whoever said it is handled before a name is looked at")
  func rank() {
    var queue = TurnQueue<String>()
    queue.add("gone", from: Source(group: "app", rank: 2, name: ":1.1"))
    queue.add("ended", from: Source(group: "app", rank: 1, name: ""))
    queue.add("asked", from: Source(group: "app", name: ":1.12"))
    var handled: [String] = []
    while !queue.isEmpty { handled += queue.nextTurn(at: Self.moment) }
    #expect(handled == ["asked", "ended", "gone"])
  }

  @Test("A4: what comes later waits behind what is there already")
  func later() {
    var queue = TurnQueue<String>()
    queue.add("first", from: Source(group: "door", name: ":1.9"))
    queue.add("second", from: Source(group: "door", name: ":1.9"))
    #expect(queue.nextTurn(at: Self.moment) == ["first"])
    queue.add("third", from: Source(group: "door", name: ":1.1"))
    #expect(queue.nextTurn(at: Self.moment) == ["second"])
    #expect(queue.nextTurn(at: Self.moment) == ["third"])
  }

  @Test("A4: ten thousand things at once need a few hundred turns, and keep their order")
  func many() {
    var queue = TurnQueue<Int>()
    for number in 0..<10_000 { queue.add(number, from: .init(group: "door", name: ":1.9")) }
    var handled: [Int] = []
    var count = 0
    while !queue.isEmpty {
      handled += queue.nextTurn(at: Self.moment)
      count += 1
    }
    #expect(handled == Array(0..<10_000))
    #expect((100...500).contains(count), "\(count) turns")
  }

  @Test("A2: whoever talks without end at one moment is answered at once, until time moves")
  func endless() {
    var queue = TurnQueue<Int>()
    var count = 0
    while queue.takesTurns(at: Self.moment), count < 10_000 {
      queue.add(count, from: .init(group: "door", name: ":1.9"))
      #expect(queue.nextTurn(at: Self.moment) == [count])
      count += 1
    }
    #expect(count == TurnQueue<Int>.turnsAtOneMoment)
    #expect(queue.takesTurns(at: Self.moment + .nanoseconds(1)))
    // What waits keeps its place before what comes.
    queue.add(1, from: .init(group: "door", name: ":1.9"))
    queue.add(2, from: .init(group: "door", name: ":1.9"))
    #expect(queue.takesTurns(at: Self.moment))
    #expect(queue.nextTurn(at: Self.moment) == [1, 2])
    #expect(!queue.takesTurns(at: Self.moment))
  }
}
