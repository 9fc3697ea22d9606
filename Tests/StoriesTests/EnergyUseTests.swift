import Journal
import JournalEvents
import Stories
import Testing

@Suite("What a story costs its machines") struct EnergyUseTests {
  private func entry(
    _ seconds: Int64, _ process: String, _ event: String, _ fields: [JournalField: String] = [:], machine: String = ""
  ) -> JournalEntry {
    JournalEntry(
      t: seconds * 1_000_000_000, wall: 0, machine: machine, process: process, pid: 1, level: "notice", event: event,
      message: event, fields: Dictionary(uniqueKeysWithValues: fields.map { ($0.key.rawValue, $0.value) }))
  }

  @Test("L2: waiting for a link costs a phone its radio half of the time, and a link a hundredth") func phone() throws {
    let ends: [JournalField: String] = [.central: "phone", .peripheral: "door", .link: "1"]
    func radio(_ seconds: Int64, _ event: Recorded.Radio, _ fields: [JournalField: String]) -> JournalEntry {
      entry(seconds, Recorded.simulator, event.rawValue, fields)
    }
    func daemon(_ seconds: Int64, _ event: Recorded.Daemon, _ fields: [JournalField: String] = [:]) -> JournalEntry {
      entry(seconds, Recorded.daemon, event.rawValue, fields, machine: "phone")
    }
    let use = EnergyUse.of([
      radio(0, .linkUp, ends), daemon(0, .appLaunched), daemon(12, .wakeEnded, [.milliseconds: "12000"]),
      radio(300, .linkDown, ends), daemon(300, .appResumed), daemon(310, .wakeEnded, [.milliseconds: "2500"]),
      radio(1300, .adapterPowered, [.machine: "phone", .on: "false"]),
      radio(2300, .adapterPowered, [.machine: "phone", .on: "true"]), radio(3300, .linkUp, ends),
      radio(3600, .linkDown, ends),
    ])
    #expect(use.map(\.machine) == ["door", "phone"])
    let phone = try #require(use.last)
    #expect(phone.wakes == 2 && phone.awakeSeconds == 14.5 && phone.seconds == 3600)
    #expect(phone.linkSeconds == 600 && phone.scanSeconds == 2000 && phone.advertisingSeconds == 0)
    #expect(abs(phone.radioSeconds - 1006) < 0.001)
    #expect(use.first?.advertisingSeconds == 3600)
    #expect(EnergyUse.of([]).isEmpty)
  }

  @Test("L2: the time before a machine's first link counts, from its app's request and services on")
  func beforeTheFirstLink() {
    let ends: [JournalField: String] = [.central: "phone", .peripheral: "door", .link: "1"]
    let use = EnergyUse.of([
      entry(0, Recorded.daemon, Recorded.Daemon.managerCreated.rawValue, [.role: "central"], machine: "phone"),
      entry(100, Recorded.daemon, Recorded.Daemon.managerCreated.rawValue, [.role: "peripheral"], machine: "door"),
      entry(100, Recorded.daemon, Recorded.Daemon.managerCreated.rawValue, [.role: "peripheral"], machine: "other"),
      entry(400, Recorded.daemon, Recorded.Daemon.requestHeld.rawValue, machine: "phone"),
      entry(1000, Recorded.simulator, Recorded.Radio.linkUp.rawValue, ends),
      entry(1100, Recorded.simulator, Recorded.Radio.linkDown.rawValue, ends),
    ])
    #expect(use.map(\.machine) == ["door", "phone"], "no link shows that the other advertised")
    #expect(use.map(\.advertisingSeconds) == [1000, 0])
    #expect(use.map(\.scanSeconds) == [0, 600])
    #expect(use.map(\.linkSeconds) == [100, 100])
  }
}
