import Testing
import TimeTypes

@testable import latchkey_agent

/// When the agent asks its lock for a bond.
@Suite("A request for a bond") struct BondRequestTests {
  private var bond = BondRequest()
  private var now = Instant.zero

  /// A link on which the lock answers, or does not.
  /// - Returns: whether the bond was asked for.
  private mutating func link(lasting: Duration, answering: Bool = true, success: Bool? = nil) -> Bool {
    bond.linkBegan(at: now)
    let isAsked = answering && bond.take()
    if isAsked, let success { bond.ended(isSuccess: success, at: now) }
    now = now + lasting
    bond.linkEnded(at: now)
    now = now + .seconds(1)
    return isAsked
  }

  @Test("L5: a bond that was made is not asked for again, over many links and answers") mutating func once() {
    #expect(link(lasting: .seconds(60), success: true))
    for _ in 0..<50 {
      #expect(!link(lasting: .seconds(3600)))
      #expect(!link(lasting: .milliseconds(400), answering: false))
      #expect(!link(lasting: .milliseconds(400)))
    }
  }

  @Test(
    "L5: after three links in a row that broke off, with an answer or before it, the bond may be gone",
    arguments: [true, false])
  mutating func lost(answering: Bool) {
    #expect(link(lasting: .seconds(60), success: true))
    for _ in 0..<3 { #expect(!link(lasting: .milliseconds(400), answering: answering)) }
    #expect(link(lasting: .seconds(60), success: true))
    for _ in 0..<3 { #expect(!link(lasting: .seconds(60))) }
  }

  @Test("L5: what fails is tried three times, then after a minute, two, and so on, but at least about every hour")
  mutating func pauses() {
    var asked: [Duration] = []
    let end = now + .seconds(86_400)
    while now < end {
      let began = now
      if link(lasting: .milliseconds(400)) { asked.append(began - .zero) }
    }
    let pauses = zip(asked, asked.dropFirst()).map { $1 - $0 }
    #expect(pauses.prefix(2).allSatisfy { $0 < .seconds(2) })
    #expect(pauses[2] >= .seconds(60) && pauses[2] < .seconds(63), "\(pauses)")
    #expect(pauses[3] >= .seconds(120) && pauses[3] < .seconds(123), "\(pauses)")
    #expect(pauses.allSatisfy { $0 < .seconds(3850) })
    #expect((27...33).contains(asked.count), "\(asked.count)")
  }

  @Test("L5: a refusal on a link that stays up, too, is tried on the next")
  mutating func refused() {
    for _ in 0..<3 { #expect(link(lasting: .seconds(60), success: false)) }
    now = now + .seconds(120)
    #expect(link(lasting: .seconds(60), success: true))
    #expect(!link(lasting: .seconds(60)))
  }
}
