import Foundation
import JournalEvents
import ProcessTesting
import Testing

@testable import Stories

/// The names of events are defined only in `JournalEvents`, for programs that record them and for those that read
/// them.
@Suite("The journal's vocabulary")
struct VocabularyTests {
  private static func files(_ folders: [String], _ suffix: String) throws -> [(name: String, text: String)] {
    try folders.flatMap { folder in
      let path = TestPlaces.package + "/" + folder
      return try FileManager.default.subpathsOfDirectory(atPath: path).filter { $0.hasSuffix(suffix) }
        .map { (folder + "/" + $0, try String(contentsOfFile: path + "/" + $0, encoding: .utf8)) }
    }
  }

  private static func matches(_ pattern: String, in text: String) throws -> [String] {
    let expression = try NSRegularExpression(pattern: pattern)
    return expression.matches(in: text, range: NSRange(text.startIndex..., in: text)).compactMap { match in
      Range(match.range(at: 1), in: text).map { String(text[$0]) }
    }
  }

  private func check<Event: JournalEvent>(_ kind: Event.Type, in folders: [String], _ pattern: String) throws {
    let text = try Self.files(folders, ".swift").map(\.text).joined()
    let said = Set(try Self.matches(pattern, in: text))
    for event in Event.allCases {
      #expect(said.contains("\(event)"), "nobody records \(kind).\(event)")
    }
  }

  @Test("H1: every event of the vocabulary is one that its program records")
  func recorded() throws {
    try check(Recorded.Agent.self, in: ["Sources/latchkey-agent"], #"\brecord\(\s*Recorded\.Agent\.(\w+)"#)
    try check(
      Recorded.Lock.self, in: ["lockfirmware-sim/Sources/latchkey-lock"], #"\brecord\(\s*Recorded\.Lock\.(\w+)"#)
    try check(
      Recorded.Daemon.self, in: ["Sources/BluetoothSystem", "Sources/LatchkeyDaemon"],
      #"(?:\bjournal\(\s*|\brecord\(\s*Recorded\.Daemon)\.(\w+)"#)
    try check(
      Recorded.Story.self, in: ["Sources/Stories"],
      #"(?:\b(?:mark|user)\(\s*(?:isHung \? )?|(?<=\.appHung : ))\.(\w+)"#)
  }

  @Test("H1: every event of the radio is one that the simulator records, or that the air's scripts tell")
  func radio() throws {
    let simulator = try Self.files(["Sources/BlueZSimulator"], ".swift").map(\.text).joined()
    let scripts = try Self.files(["scripts/vm"], ".py").map(\.text).joined()
    let said = Set(
      try Self.matches(#"\(\.(\w+), \["#, in: simulator).compactMap { name in
        Recorded.Radio.allCases.first { "\($0)" == name }
      })
    let told = Set(try Self.matches(#""event": "([a-z.]+)""#, in: scripts))
    for event in Recorded.Radio.allCases {
      let short = event.rawValue.replacingOccurrences(of: "controller.", with: "")
      #expect(said.contains(event) || told.contains(event.rawValue) || told.contains(short), "\(event)")
    }
  }

  private static let names = Set(
    Recorded.Agent.allCases.map(\.rawValue) + Recorded.Lock.allCases.map(\.rawValue)
      + Recorded.Daemon.allCases.map(\.rawValue) + Recorded.Radio.allCases.map(\.rawValue)
      + Recorded.Story.allCases.map(\.rawValue))

  @Test("H1: no reader of a journal repeats an event's name")
  func literals() throws {
    for (file, text) in try Self.files(["Sources", "Benchmarks", "lockfirmware-sim/Sources"], ".swift")
    where !file.hasPrefix("Sources/JournalEvents/") {
      let literals = try Self.matches(#""([a-z]+\.[a-zA-Z.\-]+)""#, in: text).filter(Self.names.contains)
      #expect(literals.isEmpty, "\(file)")
    }
  }

  @Test("H1: scripts wait for events that there are")
  func scripts() throws {
    for (file, text) in try Self.files(["scripts/vm", "Benchmarks/bleak-unlock"], ".py") {
      let waits = try Self.matches(#"\b(?:events\.wait|air_event|self\.entry)\("([a-zA-Z.]+)""#, in: text)
      for name in waits where name != "ready" { #expect(Self.names.contains(name), "\(file)") }
    }
  }

  @Test("H1: the virtual lab's story records only existing events of the story, with existing fields")
  func deeds() throws {
    let text = try #require(try Self.files(["scripts/vm/warp"], ".py").first { $0.name.hasSuffix("/story.py") }).text
    let told = try Self.matches(#"\b(?:deed|move)\(\s*"([a-z.\-]+)""#, in: text)
    #expect(told.count >= 8)
    for name in told { #expect(Recorded.Story(rawValue: name) != nil, "\(name)") }
    let fields = Set(JournalField.allCases.map { $0.rawValue.replacing("-", with: "_").replacing(".", with: "_") })
    for call in try Self.matches(#"\b(?:deed|move)\((\s*"[^)]*)\)"#, in: text) {
      for name in try Self.matches(#"[ (]([a-z_]+)="#, in: call) { #expect(fields.contains(name), "\(name)") }
    }
  }

  @Test("H1: a scenario that waits for a misspelt event is refused, with the line and the nearest name")
  func misspelt() throws {
    func refusal(_ wait: String) -> String? {
      let yaml = ScenarioParserTests.head + "steps:\n  - pass: 1s\n  - wait for: {\(wait)}"
      do {
        _ = try ScenarioParser.parse(yaml, file: "small.yaml")
        return nil
      } catch { return error.description }
    }
    let slip = try #require(refusal("event: bolt.movd"))
    #expect(slip.hasPrefix("small.yaml:7:"), "\(slip)")
    #expect(slip.contains("'bolt.movd'") && slip.contains("bolt.moved"), "\(slip)")
    // A correct name, but of a program that does not record it.
    let foreign = try #require(refusal("event: bolt.moved, process: latchkey-agent"))
    #expect(foreign.contains("latchkey-agent records no event 'bolt.moved'"), "\(foreign)")
    let field = try #require(refusal("event: bolt.moved, fields: {too: locked}"))
    #expect(field.contains("'too'") && field.contains("cause, from, record, to"), "\(field)")
    let program = try #require(refusal("event: bolt.moved, process: latchkey-lok"))
    #expect(program.contains("latchkey-lock"), "\(program)")
    // Existing events, and an event of another app.
    #expect(refusal("event: bolt.moved, process: latchkey-lock, fields: {to: locked}") == nil)
    #expect(refusal("event: link.up, fields: {central: phone}") == nil)
    #expect(refusal("event: owner.left") == nil)
    #expect(refusal("event: tea.ready, process: kettle, fields: {cups: 2}") == nil)
    // As among a machine's apps.
    #expect(refusal("event: bolt.moved, process: lock") == nil)
    let notLocks = try #require(refusal("event: status.answered, process: lock"))
    #expect(notLocks.contains("latchkey-lock records no event 'status.answered'"), "\(notLocks)")
    let own = try #require(refusal("event: tea.ready"))
    #expect(own.contains("'process'"), "\(own)")
  }

  @Test("H1: two names differ by the letters that make one of the other")
  func distance() {
    #expect(EventNames.distance("bolt.moved", "bolt.moved") == 0)
    #expect(EventNames.distance("bolt.movd", "bolt.moved") == 1)
    #expect(EventNames.distance("", "abc") == 3)
    #expect(EventNames.distance(String(repeating: "x", count: 100_000), "a") == 64)
    #expect(EventNames.nearest(to: "bolt.movde", among: ["bolt.moved", "link.up"]) == ["bolt.moved"])
    #expect(EventNames.nearest(to: "x", among: []).isEmpty)
    // A part of a name differs from it by many letters, and is nearer to a short one.
    let modes: Set = ["fetch", "audio", "bluetooth-central", "bluetooth-peripheral"]
    #expect(EventNames.nearest(to: "bluetooth", among: modes) == ["bluetooth-central", "bluetooth-peripheral"])
    #expect(EventNames.nearest(to: "magic", among: modes) == modes.sorted())
  }
}
