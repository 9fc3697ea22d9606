import Testing

@testable import BlueZConformance

@Suite struct ComparisonTests {
  private static func transcript(_ lines: [String], step: String = "the link is lost") -> Transcript {
    Transcript(
      subject: "somebody",
      cases: [Transcript.Case("loss", [Transcript.Step(step, [Transcript.Column("phone", lines)])])])
  }

  @Test("H4: a transcript is read back as it was written")
  func readsBack() throws {
    let transcript = Self.transcript(["> lock.Connect()", "lock Connected = true", "= adapter Powered: true"])
    #expect(try Transcript(text: transcript.text) == transcript)
    #expect(throws: Transcript.Malformed.self) { try Transcript(text: "## a case\nlost") }
  }

  @Test("H4: differences are reported with their place; common lines are not")
  func differences() {
    let found = Comparison.differences(
      simulator: Self.transcript(["a", "b", "c"]), bluetoothd: Self.transcript(["a", "c", "d"]))
    #expect(found.map(\.line) == ["b", "d"])
    #expect(found.map(\.side) == [.onlySimulator, .onlyBluetoothd])
    #expect(found.first?.description == "loss / the link is lost / phone: only the simulator: b")
    #expect(Comparison.differences(simulator: Self.transcript(["a"]), bluetoothd: Self.transcript(["a"])).isEmpty)
  }

  @Test("H4: what an adapter is called at its beginning is chance; what it can do then is not")
  func adapterNames() {
    func adapter(_ name: String, powered: Bool = false) -> Transcript {
      Self.transcript([
        "+ adapter Adapter1 Alias=\(name)", "+ adapter Adapter1 Name=\(name)", "+ adapter Adapter1 Powered=\(powered)",
      ])
    }
    let host = adapter("<name of phone>")
    #expect(Comparison.differences(simulator: host, bluetoothd: adapter("BlueZ 5.82")).isEmpty)
    #expect(Comparison.differences(simulator: host, bluetoothd: adapter("BlueZ 5.82", powered: true)).count == 2)
  }

  @Test("H4: a step or a case that only one has differs with every line")
  func missing() {
    let other = Comparison.differences(
      simulator: Self.transcript(["a"]), bluetoothd: Self.transcript(["a"], step: "something else"))
    #expect(other.count == 2)
    #expect(
      Comparison.differences(simulator: Self.transcript(["a"]), bluetoothd: Transcript(subject: "nobody")).count == 1)
  }

  @Test("H4: an unexplained difference is bad, and so is an explanation of nothing")
  func verdicts() {
    let differences = Comparison.differences(
      simulator: Self.transcript(["a", "b"]), bluetoothd: Self.transcript(["a", "c"]))
    let explanation = Explanation(in: "loss", simulator: ["b"], bluetoothd: ["c"], heading: "A heading")
    #expect(Verdict(differences, explanations: [explanation]).isGood)
    #expect(!Verdict(differences, explanations: []).isGood)
    #expect(Verdict(differences, explanations: []).text.contains("UNEXPLAINED loss"))
    let stale = Verdict([], explanations: [explanation])
    #expect(!stale.isGood)
    #expect(stale.text.contains("STALE"))
    let move = Explanation(in: "loss", moved: ["b", "c"], heading: "A heading", isChance: true)
    #expect(!Verdict(differences, explanations: [move]).isGood, "what only one of them has has not moved")
    let moves = Comparison.differences(
      simulator: Self.transcript(["a", "b"]), bluetoothd: Self.transcript(["b", "a"]))
    let other = Explanation(in: "loss", moved: ["a", "b"], heading: "A heading")
    #expect(moves.count == 2 && Verdict(moves, explanations: [other]).isGood)
    let chance = Explanation(in: "loss", simulator: ["b"], bluetoothd: ["c"], heading: "A heading", isChance: true)
    #expect(Verdict([], explanations: [chance]).isGood)
    #expect(Verdict(differences, explanations: [chance]).isGood)
  }

  @Test("H4: the duration of a success is mentioned only if it is longer than for an error")
  func times() {
    #expect(Wording.time(.seconds(14), isSuccess: false) == "")
    #expect(Wording.time(.seconds(20), isSuccess: false) == " after 15 to 34 s")
    #expect(Wording.time(.seconds(20), isSuccess: true) == "")
    #expect(Wording.time(.seconds(40), isSuccess: true) == " after 34 to 60 s")
    #expect(Wording.time(.seconds(61), isSuccess: true) == " after more than 60 s")
  }

  @Test("H4: objects that come together have one order, and the adapter's UUIDs come last")
  func order() {
    #expect(
      Wording.ordered(["adapter UUIDs = [a]", "+ b", "+ a", "x", "- d", "- c", "adapter UUIDs = [b]"])
        == ["+ a", "+ b", "x", "- c", "- d", "adapter UUIDs = [b]"])
  }

  @Test("H4: signal strengths that a discovery's end takes away come after its answer")
  func signalsGone() {
    let calls = ["> adapter.StopDiscovery()", "< adapter.StopDiscovery(): ok"]
    let gone = ["a RSSI is gone", "b RSSI is gone"]
    let next = ["> a.Connect()", "a Connected = true", "< a.Connect(): ok", "c RSSI is gone"]
    let ordered = calls + gone + next
    #expect(Wording.ordered(ordered) == ordered)
    #expect(Wording.ordered([calls[0], gone[1], calls[1], next[0], gone[0]] + next[1...]) == ordered)
    #expect(Wording.ordered(calls + next[0...1] + gone.reversed() + next[2...]) == ordered)
  }
}
