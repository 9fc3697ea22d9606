import ProcessTesting
import Testing

@testable import ScheduleTesting

@Suite("What a state comes down to", .serialized, .ownThread)
struct StateReaderTests {
  @Test(
    "Reading from memory misses nothing that Mirror shows, in states of a small world and of a street", arguments: 0...2
  )
  func readers(_ seed: UInt64) throws {
    var memory = StateReader()
    var mirror = StateReader(isMirrored: true)
    var street = Street(seed: seed, cast: seed == 0 ? .pair : Street.cast(seed: seed))
    let steps =
      seed == 0
      ? try Schedule.steps(
        "open lock; publish lock; open ann; connect ann.1 lock; subscribe ann.1 lock; pass 900; push lock; pass 4000; "
          + "kill ann; away phone; pass 12000; kill-system phone; near phone; kill-bluetoothd door; pass 700; rssi ann.1 lock"
      ).get()
      : ScheduleGenerator.schedule(seed: seed, steps: 20).steps
    for step in steps {
      street.carryOut(step)
      street.read(by: &memory)
      street.read(by: &mirror)
      try #require(memory.tokens.count > 1000)
      let difference = zip(memory.tokens, mirror.tokens).enumerated().first { $0.element.0 != $0.element.1 }
      try #require(difference == nil, "after \(step): token \(difference?.offset ?? 0)")
      try #require(memory.tokens.count == mirror.tokens.count, "after \(step)")
    }
  }

  private struct Small: Equatable {
    var number = 1
    var text: String?
    var choice = Choice.none
  }
  private indirect enum Choice: Equatable {
    case none, other
    case one(Int32)
    case two(name: String, [UInt8])
    case three(Choice)
  }

  @Test("A member that is new is read without being listed anywhere, and each case is told from every other")
  func members() {
    let choices: [Choice] = [
      .none, .other, .one(0), .one(1), .two(name: "", []), .two(name: "a", []), .two(name: "", [0]), .three(.none),
      .three(.three(.other)),
    ]
    let values =
      choices.map { Small(choice: $0) } + [
        Small(number: 2), Small(text: ""), Small(text: "a long text, in two words or more"),
      ]
    var seen: [[StateReader.Token]] = []
    var (memory, mirror) = (StateReader(), StateReader(isMirrored: true))
    for value in values {
      memory.begin(at: .zero)
      memory.read(value)
      mirror.begin(at: .zero)
      mirror.read(value)
      #expect(memory.tokens == mirror.tokens, "\(value)")
      #expect(!seen.contains(memory.tokens), "\(value)")
      seen.append(memory.tokens)
    }
  }
}
