import Foundation
import HomePolicy
import LatchkeyVersion
import LockProtocol
import Testing
import TimeTypes

@testable import latchkey_agent

@Suite("The agent's state in every format that was ever released") struct AgentFormatTests {
  private static let lock = UUID(uuidString: "E0418D94-0421-8C0F-9D5A-AA7D4D27947E")

  private func golden(_ name: String) throws -> Data {
    try Data(contentsOf: #require(Bundle.module.url(forResource: "States/" + name, withExtension: "json")))
  }

  private func time(_ nanoseconds: Int64, _ unixSeconds: Double) -> HomeTime {
    HomeTime(boot: "first", instant: Instant(nanoseconds: nanoseconds), unixSeconds: unixSeconds)
  }

  /// A state with every member.
  private var everything: AgentState {
    var home = HomeState()
    home.isLinked = true
    home.lastHeard = time(3_600_000_000_000, 1_800_000_000)
    home.linkLost = time(1, 1)
    home.isBeginning = true
    home.approach = HomeState.Approach(since: time(5, 2.5), signal: -88, hasRisen: true)
    home.opening = HomeState.Opening(
      operation: .max, isWritten: true, attempts: 2, because: .approach, since: time(6, 3))
    home.asked = time(7, 4)
    home.isAsking = true
    home.hasLeft = true
    return AgentState(lock: Self.lock, home: home)
  }

  /// As `everything`, from before a phone could see itself leave.
  private var withoutLeaving: AgentState {
    var state = everything
    state.home.hasLeft = nil
    return state
  }

  @Test("Change 7: a state of each format is read, and everything that was stored in it is there")
  func everyFormat() throws {
    #expect(try AgentFormat.read(golden("version-1-home-2")) == withoutLeaving)
    #expect(try AgentFormat.read(golden("version-2")) == withoutLeaving)
    #expect(try AgentFormat.read(golden("version-2-left")) == everything)
  }

  @Test("L7: of the first release the lock and its link are read, and nothing of an arrival")
  func firstRelease() throws {
    let read = try AgentFormat.read(golden("version-1"))
    var expected = HomeState()
    expected.isLinked = true
    expected.lastHeard = everything.home.lastHeard
    expected.linkLost = everything.home.linkLost
    #expect(read == AgentState(lock: Self.lock, home: expected))
    let phone = try AgentFormat.read(golden("version-1-phone"))
    #expect(phone.lock == Self.lock && phone.home.isLinked && phone.home.linkLost == nil)
    let later = try AgentFormat.read(golden("version-1-home-2-phone"))
    #expect(later.lock != nil && later.home.isLinked && later.home.linkLost != nil)
  }

  @Test("L7: what the first release stored of an arrival opens nothing") func nothingOpens() throws {
    var phone = Phone()
    phone.disk = try AgentFormat.read(golden("version-1")).home
    phone.relaunch(isLinked: true)
    phone.happens(.offerReceived)
    phone.signal(-50, for: 20)
    #expect(phone.unlocks.isEmpty)
  }

  @Test("L7: an approach that does not say how strong it began is left out, and the rest is read")
  func approachWithoutSignal() throws {
    var text = String(decoding: try golden("version-1-home-2"), as: UTF8.self)
    text.replace("\"signal\" : -88,", with: "")
    var expected = withoutLeaving
    expected.home.approach = nil
    #expect(try AgentFormat.read(Data(text.utf8)) == expected)
  }

  @Test("Change 7: what is written now is the golden state of the present format, byte by byte")
  func present() throws {
    let written = String(decoding: try AgentFormat.bytes(everything), as: UTF8.self)
    let golden = String(decoding: try golden("version-2-left"), as: UTF8.self)
      .replacing("\"writer\" : \"0.1.0\"", with: "\"writer\" : \"\(LatchkeyVersion.current)\"")
    #expect(written == golden.trimmingCharacters(in: .newlines))
  }

  @Test("L3: what a phone saw at the door is stored, and a signal that no radio has is damage") func departure() throws
  {
    var state = everything
    state.home.hasStayed = true
    state.home.doorSignal = -57
    state.home.roomSignal = -88
    state.home.approach?.firstSince = time(4, 1.5)
    state.home.approach?.isProven = true
    state.home.unprovenSince = time(3, 1)
    state.home.isBonded = true
    let written = String(decoding: try AgentFormat.bytes(state), as: UTF8.self)
    #expect(try AgentFormat.read(Data(written.utf8)) == state)
    #expect(throws: AgentFormat.Problem.self) {
      try AgentFormat.read(Data(written.replacing("\"doorSignal\" : -57", with: "\"doorSignal\" : -2000").utf8))
    }
    #expect(throws: AgentFormat.Problem.self) {
      try AgentFormat.read(Data(written.replacing("\"roomSignal\" : -88", with: "\"roomSignal\" : -129").utf8))
    }
  }

  @Test("L5: what was seen of the lock's log is stored, and its absence means that nothing was seen") func log() throws
  {
    var state = everything
    state.log.head = LogHead(index: 12, hash: [UInt8](repeating: 7, count: 32))
    state.log.troubles = [SeenLogState.Trouble(text: "its end was cut off", unixSeconds: 1_800_000_001)]
    let golden = String(decoding: try golden("version-2-log"), as: UTF8.self)
    #expect(try AgentFormat.read(Data(golden.utf8)) == state)
    let written = String(decoding: try AgentFormat.bytes(state), as: UTF8.self)
    #expect(
      written
        == golden.replacing("\"writer\" : \"0.1.0\"", with: "\"writer\" : \"\(LatchkeyVersion.current)\"")
        .trimmingCharacters(in: .newlines))
    state.log.answered = 14
    let answered = String(decoding: try self.golden("version-2-answered"), as: UTF8.self)
    #expect(try AgentFormat.read(Data(answered.utf8)) == state)
    #expect(
      try String(decoding: AgentFormat.bytes(state), as: UTF8.self)
        == answered.replacing("\"writer\" : \"0.1.0\"", with: "\"writer\" : \"\(LatchkeyVersion.current)\"")
        .trimmingCharacters(in: .newlines))
    let changes = [
      ("\"0707", "\"07"), ("\"index\" : 12", "\"index\" : -1"), ("\"answered\" : 14", "\"answered\" : -1"),
    ]
    for (part, other) in changes {
      let text = answered.replacing(part, with: other)
      #expect(throws: AgentFormat.Problem.self) { try AgentFormat.read(Data(text.utf8)) }
    }
  }

  @Test("Change 7: members that a newer agent added are ignored, and one that may be missing means none or no")
  func additions() throws {
    var text = String(decoding: try golden("version-2"), as: UTF8.self)
    text.replace("\"isLinked\"", with: "\"later\" : {\"a\" : [1]}, \"isLinked\"")
    #expect(try AgentFormat.read(Data(text.utf8)) == withoutLeaving)
    let least = #"{"version":2,"writer":"0.1.0","home":{"isLinked":false}}"#
    #expect(try AgentFormat.read(Data(least.utf8)) == AgentState())
  }

  @Test(
    "attack 34: an impossible state counts as damage, and never overflows",
    arguments: [
      ("\"nanoseconds\" : 5", "\"nanoseconds\" : 9223372036854775807"),
      ("\"nanoseconds\" : 5", "\"nanoseconds\" : -9223372036854775808"),
      ("\"unixSeconds\" : 1800000000", "\"unixSeconds\" : -1e300"),
      ("\"unixSeconds\" : 1800000000", "\"unixSeconds\" : 1e300"), ("\"signal\" : -88", "\"signal\" : -2000"),
      ("\"attempts\" : 2", "\"attempts\" : 9223372036854775807"),
      ("\"because\" : \"approach\"", "\"because\" : \"luck\""),
      ("\"isLinked\" : true", "\"isLinked\" : 1"), ("\"version\" : ", "\"version\" : -"),
    ])
  func impossible(_ part: String, _ other: String) throws {
    for name in ["version-1-home-2", "version-2"] {
      let text = String(decoding: try golden(name), as: UTF8.self).replacing(part, with: other)
      #expect {
        try AgentFormat.read(Data(text.utf8))
      } throws: { error in
        if case AgentFormat.Problem.damaged = error { true } else { false }
      }
    }
  }
}
