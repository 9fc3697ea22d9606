import Testing

/// What a seed decides.
@Suite("One seed tells one story, with real processes", .timeLimit(.minutes(15)))
struct OneSeedTests {
  /// The lock's process is stopped while bluetoothd starts anew, so it goes on with a queue of events.
  private static func story(seed: Int) -> String {
    """
    name: one-seed
    seed: \(seed)
    machines:
      door: {position: [0, 0], apps: [lock]}
      phone: {position: [1, 0], apps: [agent]}
    steps:
      - open app: {machine: phone, app: agent}
      - wait for: {event: status.answered, machine: phone, within: 5min}
      - hang app: {machine: door, app: lock}
      - kill bluetoothd: door
      - pass: 2min
      - continue app: {machine: door, app: lock}
      - pass: 10min
    promises: [nothing-crashed]
    """
  }

  @Test("A4: two runs of a seed name the lock alike, and another seed names it otherwise")
  func names() async throws {
    var runs: [(name: String, fingerprint: String)] = []
    for seed in [7, 7, 8] {
      let (report, outcome) = try await LatchkeyCommand.prove(Self.story(seed: seed))
      #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
      let held = try #require(report.timeline.first { $0.event == "request.held" })
      runs.append((try #require(held.fields["peripheral"]), "\(try #require(report.fingerprint))"))
    }
    #expect(runs[0] == runs[1])
    #expect(runs[0].name != runs[2].name)
  }

  /// Two apps of one machine speak at one moment: as they start, and whenever their bluetoothd does. One of them is slow.
  private static func story(slow: String) -> String {
    func app(_ name: String, service: String) -> String {
      let work = name == slow ? "i=0; while [ $i -lt 2000000 ]; do i=$((i+1)); done; " : ""
      let words = "peripheral:\(name) service=\(service) characteristic=2A37:read+notify name=\(name)"
      return """
          \(name):
            info plist:
              CFBundleIdentifier: org.example.\(name)
              UIBackgroundModes: [bluetooth-peripheral]
              LatchkeyKeepAlive: true
            executable: /bin/sh
            arguments: [-c, "\(work)exec \(LatchkeyCommand.programs)/trial-app \(words)"]
        """
    }
    return """
      name: two-apps
      radio: clear
      apps:
      \(app("anna", service: "180D"))
      \(app("bert", service: "180F"))
        watcher:
          info plist: {CFBundleIdentifier: org.example.watcher, UIBackgroundModes: [bluetooth-central]}
          executable: trial-app
          arguments: ["central:watcher", scan=any, duplicates=yes]
      machines:
        desk: {position: [0, 0], apps: [bert, anna]}
        phone: {position: [1, 0], apps: [watcher]}
      steps:
        - open app: {machine: phone, app: watcher}
        - pass: 10s
        - kill bluetoothd: desk
        - pass: 10s
      promises: [nothing-crashed]
      """
  }

  @Test("A4: what two apps of a machine say at one moment is handled in one order, whichever is slow")
  func twoApps() async throws {
    var fingerprints: [String] = []
    for slow in ["anna", "bert", "nobody"] {
      let (report, outcome) = try await LatchkeyCommand.prove(Self.story(slow: slow))
      #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
      #expect(report.timeline.contains { $0.event == "discovered" })
      fingerprints.append("\(try #require(report.fingerprint))")
    }
    #expect(fingerprints[0] == fingerprints[1])
    #expect(fingerprints[1] == fingerprints[2])
  }
}
