import Testing
import TimeTypes

@testable import BlueZSimulator

/// Which of the things that were said at one moment comes first.
@Suite("Turns of a world's simulator") struct TurnQueueTests {
  typealias Source = TurnQueue<String>.Source

  private static let moment = Instant.zero + .seconds(5)
  private static let said: [(source: Source, text: String)] = [
    (Source(machine: "door", name: ":1.9"), "door 9, first"),
    (Source(machine: "phone", name: ":1.2"), "phone 2, first"),
    (Source(machine: "door", name: ":1.10"), "door 10, first"),
    (Source(machine: "door", name: ":1.9"), "door 9, second"),
    (Source(machine: "phone", name: ":1.2"), "phone 2, second"),
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

  @Test("A4: what comes later waits behind what is there already")
  func later() {
    var queue = TurnQueue<String>()
    queue.add("first", from: Source(machine: "door", name: ":1.9"))
    queue.add("second", from: Source(machine: "door", name: ":1.9"))
    #expect(queue.nextTurn(at: Self.moment) == ["first"])
    queue.add("third", from: Source(machine: "door", name: ":1.1"))
    #expect(queue.nextTurn(at: Self.moment) == ["second"])
    #expect(queue.nextTurn(at: Self.moment) == ["third"])
  }

  @Test("A4: ten thousand things at once need a few hundred turns, and keep their order")
  func many() {
    var queue = TurnQueue<Int>()
    for number in 0..<10_000 { queue.add(number, from: .init(machine: "door", name: ":1.9")) }
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
      queue.add(count, from: .init(machine: "door", name: ":1.9"))
      #expect(queue.nextTurn(at: Self.moment) == [count])
      count += 1
    }
    #expect(count == TurnQueue<Int>.turnsAtOneMoment)
    #expect(queue.takesTurns(at: Self.moment + .nanoseconds(1)))
    // What waits keeps its place before what comes.
    queue.add(1, from: .init(machine: "door", name: ":1.9"))
    queue.add(2, from: .init(machine: "door", name: ":1.9"))
    #expect(queue.takesTurns(at: Self.moment))
    #expect(queue.nextTurn(at: Self.moment) == [1, 2])
    #expect(!queue.takesTurns(at: Self.moment))
  }
}
