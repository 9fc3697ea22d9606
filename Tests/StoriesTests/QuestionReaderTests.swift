import Testing

@testable import Stories
@testable import Worlds

@Suite("Steps in which a person asks their phone")
struct QuestionReaderTests {
  private static let head = """
    name: small
    machines:
      door: {position: [0, 0], apps: [lock]}
      alice: {position: [1, 0], apps: [agent]}
      ben: {position: [2, 0], apps: [agent], enrolled: no}
    steps:

    """

  private func actions(_ steps: String) throws -> [Action] {
    try ScenarioParser.parse(Self.head + steps, file: "small.yaml").chapters.flatMap(\.steps).map(\.action)
  }

  private func refusal(_ steps: String) -> String? {
    do throws(ScenarioError) {
      _ = try ScenarioParser.parse(Self.head + steps, file: "small.yaml")
      return nil
    } catch { return "\(error)" }
  }

  @Test("H1 L8: what a person asks is read as it is written, with the answer that is expected")
  func everyQuestion() throws {
    let read = try actions(
      """
        - unlock: alice
        - unlock: {machine: alice, expect: refused, saying: over, within: 30s}
        - lock: alice
        - look at door: {machine: alice, saying: [locked, shut]}
        - read log: alice
        - measure room: {machine: alice, saying: -87 dBm}
        - invite guest: {machine: alice, guest: Ben, from: 1.5, until: 3, weekdays: "sat,sun", hours: "10:00-18:00", uses: 2, may read log: yes}
        - list guests: alice
        - accept invitation: {machine: ben, guest: Ben, as: alices}
        - revoke: {machine: alice, guest: Ben}
        - carry list: {machine: alice, guest: Ben}
        - revoke: {machine: alice, phone: ben}
        - carry list: {machine: alice, phone: ben, expect: refused}
        - provision: ben
      """)
    var refused = Question(.unlock)
    (refused.expects, refused.saying, refused.limit) = (.refused, ["over"], .seconds(30))
    var look = Question(.door)
    look.saying = ["locked", "shut"]
    var room = Question(.room)
    room.saying = ["-87 dBm"]
    var terms = GuestTerms(guest: "Ben")
    (terms.from, terms.until, terms.weekdays, terms.hours) = (1.5, 3, "sat,sun", "10:00-18:00")
    (terms.uses, terms.mayReadLog) = (2, true)
    var carried = Question(.carry(.phone(machine: "ben")))
    carried.expects = .refused
    #expect(
      read == [
        .unlock(machine: "alice"), .ask(machine: "alice", refused), .ask(machine: "alice", Question(.lock)),
        .ask(machine: "alice", look), .ask(machine: "alice", Question(.log)),
        .ask(machine: "alice", room),
        .ask(machine: "alice", Question(.invite(terms))), .ask(machine: "alice", Question(.guests)),
        .ask(machine: "ben", Question(.accept(guest: "Ben", door: "alices"))),
        .ask(machine: "alice", Question(.revoke(.guest("Ben")))),
        .ask(machine: "alice", Question(.carry(.guest("Ben")))),
        .ask(machine: "alice", Question(.revoke(.phone(machine: "ben")))), .ask(machine: "alice", carried),
        .provision(machine: "ben", door: "door"),
      ])
    #expect(read.map(\.summary).allSatisfy { !$0.isEmpty && !$0.contains("Optional") })
  }

  @Test(
    "H1: a question that can't be asked is refused before the story begins, with its line",
    arguments: [
      ("  - unlock: door", "machine 'door' has no agent"),
      ("  - lock: {machine: alice, expect: maybe}", "done, refused"),
      ("  - lock: {machine: alice, saying: {a: b}}", "a text of the answer"),
      ("  - read log: {machine: alice, last: 3}", "unknown key 'last'"),
      ("  - invite guest: {machine: alice}", "'guest'"),
      ("  - invite guest: {machine: alice, guest: Ben, from: 3, until: 2}", "'until'"),
      ("  - invite guest: {machine: alice, guest: Ben, uses: 1.5}", "a whole number"),
      ("  - invite guest: {machine: alice, guest: Ben, uses: 0}", "'uses'"),
      ("  - invite guest: {machine: alice, guest: --json}", "does not begin with '-'"),
      ("  - invite guest: {machine: alice, guest: \"B\\u200Ben\"}", "can all be seen"),
      ("  - invite guest: {machine: alice, guest: Ben, weekdays: sunday}", "(valid: mon-fri, sat,sun)"),
      ("  - invite guest: {machine: alice, guest: Ben, hours: 10-18}", "(valid: 08:00-17:30, 22:00-06:00)"),
      ("  - invite guest: {machine: alice, guest: Ben, hours: '10:00-10:00'}", "can't be '10:00-10:00'"),
      ("  - invite guest: {machine: alice, guest: Ben, hours: '24:00-08:00'}", "can't be '24:00-08:00'"),
      (
        "  - invite guest: {machine: alice, guest: Ben}\n  - accept invitation: {machine: ben, guest: Ben, as: Alice's}",
        "small letters, digits"
      ),
      (
        "  - invite guest: {machine: alice, guest: Ben}\n  - accept invitation: {machine: ben, guest: Ben, as: door}",
        "is not 'door'"
      ),
      ("  - lock: {machine: alice, saying: []}", "lists no text"),
      ("  - accept invitation: ben", "small.yaml:7: step 'accept invitation' has no 'guest'"),
      ("  - accept invitation: {machine: ben, guest: Ben}", "no earlier step invites a guest 'Ben'"),
      ("  - revoke: {machine: alice, guest: Ben}", "no earlier step invites a guest 'Ben'"),
      ("  - revoke: {machine: alice}", "a 'guest' or a 'phone'"),
      ("  - revoke: {machine: alice, phone: door}", "no phone of the story"),
      ("  - carry list: {machine: alice, phone: ben}", "no earlier step revokes 'ben'"),
      (
        "  - revoke: {machine: alice, phone: ben}",
        "the phone 'ben' has no key of the door that could be revoked (valid: alice)"
      ),
      ("  - provision: alice", "enrolled: no"),
      (
        "  - unlock: alice\npromises: [opened only for: [door]]",
        "lists machines with the agent, or nobody: [], and 'door' is none"
      ),
      ("  - unlock: alice\npromises: [opened only for: alice]", "must be a list"),
    ])
  func refused(_ steps: String, _ reason: String) throws {
    let said = try #require(refusal(steps))
    #expect(said.contains(reason) && said.hasPrefix("small.yaml:"), "\(said)")
  }

  @Test("H1: an invitation for hours of the day has no other calendar: its story can't be stretched")
  func calendar() throws {
    let scenario = try ScenarioParser.parse(
      Self.head + "  - invite guest: {machine: alice, guest: Ben, hours: '10:00-18:00'}", file: "small.yaml")
    try StoryLength.check(scenario, days: scenario.days, pace: nil)
    #expect(throws: ScenarioError.self) { try StoryLength.check(scenario, days: 2 * scenario.days, pace: nil) }
  }

  @Test("H1: only a machine with an agent can be without keys")
  func enrolled() {
    let yaml = Self.head.replacing("apps: [lock]", with: "apps: [lock], enrolled: no") + "  - lock: alice"
    #expect(throws: ScenarioError.self) { try ScenarioParser.parse(yaml, file: "small.yaml") }
  }

  private static let two = head.replacing(
    "  alice: {position: [1, 0], apps: [agent]}",
    with: """
        cellar: {position: [4, 0], apps: [lock]}
        alice: {position: [1, 0], apps: [agent]}
        bob: {position: [1, 1], apps: [agent], enrolled: [cellar]}
      """)

  @Test(
    "H1 L8: with several locks, each question names its door, and an invitation is for the one that it was made for")
  func severalDoors() throws {
    let scenario = try ScenarioParser.parse(
      Self.two + """
          - unlock: {machine: alice, door: cellar}
          - look at door: {machine: alice, door: door}
          - invite guest: {machine: alice, door: cellar, guest: Ben}
          - accept invitation: {machine: ben, guest: Ben}
          - revoke: {machine: alice, door: cellar, phone: bob}
          - provision: {machine: bob, door: door}
          - provision: {machine: ben, door: cellar}
        """, file: "small.yaml")
    #expect(
      scenario.chapters.flatMap(\.steps).map(\.action) == [
        .unlock(machine: "alice", door: "cellar"), .ask(machine: "alice", Question(.door, door: "door")),
        .ask(machine: "alice", Question(.invite(GuestTerms(guest: "Ben")), door: "cellar")),
        .ask(machine: "ben", Question(.accept(guest: "Ben", door: "cellar"), door: "cellar")),
        .ask(machine: "alice", Question(.revoke(.phone(machine: "bob")), door: "cellar")),
        .provision(machine: "bob", door: "door"), .provision(machine: "ben", door: "cellar"),
      ])
    let knows = scenario.machines.map { machine in ["door", "cellar"].filter(machine.mayKnow) }
    #expect(knows == [["door", "cellar"], ["door", "cellar"], ["door", "cellar"], ["cellar"], ["door", "cellar"]])
  }

  @Test("H1 L8: who is invited to two doors accepts each invitation, and a list is for the door at which it was made")
  func papersOfTwoDoors() throws {
    let scenario = try ScenarioParser.parse(
      Self.two + """
          - invite guest: {machine: alice, door: door, guest: Ben}
          - invite guest: {machine: alice, door: cellar, guest: Ben}
          - accept invitation: {machine: ben, guest: Ben, door: cellar}
          - accept invitation: {machine: ben, guest: Ben, door: door}
          - revoke: {machine: alice, door: cellar, guest: Ben}
          - revoke: {machine: alice, door: door, guest: Ben}
          - carry list: {machine: bob, door: cellar, guest: Ben}
        """, file: "small.yaml")
    let asked = scenario.chapters.flatMap(\.steps).map(\.action)
    #expect(
      asked[2...3] == [
        .ask(machine: "ben", Question(.accept(guest: "Ben", door: "cellar"), door: "cellar")),
        .ask(machine: "ben", Question(.accept(guest: "Ben", door: "door"), door: "door")),
      ])
    #expect(asked.dropFirst(2).allSatisfy { $0.summary.contains("'cellar'") || $0.summary.contains("'door'") })
  }

  @Test(
    "H1 L8: a door that is missing, or is none, is refused before the story begins, with its line",
    arguments: [
      ("  - unlock: alice", "does not say at which `door` (valid: door, cellar)"),
      ("  - lock: {machine: alice, door: gate}", "machine 'gate' has no lock (valid: door, cellar)"),
      ("  - provision: ben", "does not say at which `door`"),
      (
        "  - wait for: {event: status.answered, machine: alice, fields: {door: dor}}",
        "'door' is a machine with a lock, which 'dor' is not (valid: door, cellar)"
      ),
      (
        "  - lock: {machine: alice, door: cellar}\npromises: [{recorded: {app: agent, event: turned.away, fields: {door: bob}}}]",
        "'door' is a machine with a lock, which 'bob' is not"
      ),
      ("  - provision: {machine: bob, door: cellar}", "or a list without 'cellar'"),
      (
        "  - invite guest: {machine: alice, door: door, guest: Ben}\n  - accept invitation: {machine: ben, guest: Ben, as: x}",
        "leave out 'as'"
      ),
      (
        "  - invite guest: {machine: alice, door: door, guest: Ben}\n  - invite guest: {machine: alice, door: cellar, guest: Ben}"
          + "\n  - accept invitation: {machine: ben, guest: Ben}",
        "to which `door` (valid: door, cellar)"
      ),
      (
        "  - invite guest: {machine: alice, door: door, guest: Ben}\n  - accept invitation: {machine: ben, guest: Ben, door: cellar}",
        "no earlier step invites 'Ben' to 'cellar' (valid: door)"
      ),
      (
        "  - invite guest: {machine: alice, door: door, guest: Ben}\n  - revoke: {machine: alice, guest: Ben, door: cellar}",
        "no earlier step invites 'Ben' to 'cellar' (valid: door)"
      ),
      (
        "  - revoke: {machine: alice, phone: bob, door: door}",
        "the phone 'bob' has no key of 'door' that could be revoked (valid: alice)"
      ),
      (
        "  - revoke: {machine: alice, phone: bob, door: cellar}\n  - carry list: {machine: ben, phone: bob, door: door}",
        "revokes 'bob' at 'door', and a list is for one lock (valid: cellar)"
      ),
    ])
  func refusedDoor(_ steps: String, _ reason: String) throws {
    do throws(ScenarioError) {
      _ = try ScenarioParser.parse(Self.two + steps, file: "small.yaml")
      Issue.record("it was read")
    } catch { #expect("\(error)".contains(reason) && "\(error)".hasPrefix("small.yaml:"), "\(error)") }
  }

  @Test(
    "H1 L8: a list of doors names machines with a lock, each once",
    arguments: [
      ("[gate]", "names 'gate', which has no lock"), ("[alice]", "names 'alice', which has no lock"),
      ("[]", "lists no machine"),
      ("[cellar, cellar]", "names 'cellar' twice"),
    ])
  func wrongList(_ list: String, _ reason: String) {
    do throws(ScenarioError) {
      _ = try ScenarioParser.parse(
        Self.two.replacing("[cellar]", with: list) + "  - provision: {machine: ben, door: door}", file: "small.yaml")
      Issue.record("it was read")
    } catch { #expect("\(error)".contains(reason), "\(error)") }
  }
}
