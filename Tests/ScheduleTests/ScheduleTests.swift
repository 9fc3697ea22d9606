import ProcessTesting
import ScheduleTesting
import Testing

@Suite("Schedules", .serialized, .ownThread)
struct ScheduleTests {
  @Test("A schedule's text is read back as the same steps")
  func texts() throws {
    for seed in 1...50 as ClosedRange<UInt64> {
      let schedule = ScheduleGenerator.schedule(seed: seed, steps: 60)
      let steps = try Schedule.steps(schedule.description).get()
      #expect(steps == schedule.steps)
    }
  }

  @Test(
    "S1–S13, C1–C6: whatever happens in whatever order, every app gets what it was promised",
    arguments: [1...10, 11...20] as [ClosedRange<UInt64>])
  func random(_ seeds: ClosedRange<UInt64>) {
    var tally: [String: Int] = [:]
    for seed in seeds {
      let trial = Trial(ScheduleGenerator.schedule(seed: seed, steps: 40))
      tally.merge(trial.tally, uniquingKeysWith: +)
      #expect(trial.complaints == [], "schedule-soak --first \(seed) --seeds 1")
    }
    // Schedules in which nothing happens would keep every promise.
    for (event, least) in [("connected", 50), ("disconnected", 50), ("valueUpdated", 20), ("launch for restore", 5)] {
      #expect(tally[event] ?? 0 >= least, "\(event): \(tally[event] ?? 0) times in \(seeds.count) schedules")
    }
  }

  @Test("C5, S6: a subscription outlives links that are lost at any moment while bluetoothd subscribes again")
  func shortLinks() throws {
    for milliseconds in stride(from: 100, through: 3000, by: 100) {
      let steps =
        "open lock; publish lock; open bob; connect bob.1 lock; subscribe bob.1 lock; pass 20000; away phone; pass 9000; "
        + "near phone; pass \(milliseconds); away phone; pass 9000"
      let schedule = Schedule(seed: 1, steps: try Schedule.steps(steps).get())
      #expect(Trial(schedule).complaints == [], "lost after \(milliseconds) ms")
    }
  }

  /// Schedules that have shown faults of the system. They stay.
  @Test(
    "S6, S10, C5: what schedules have found stays mended",
    arguments: [
      // A value came after the news that its link was lost.
      (
        71,
        "open heart; publish heart; open bob; connect bob.1 heart; subscribe bob.1 heart; pass 12985; leave bob; "
          + "pass 111293; kill-system phone; push heart; kill-bluetoothd strap"
      ),
      // A subscriber to a service that the app had removed.
      (
        299,
        "open lock; publish lock; open ann; connect ann.1 lock; subscribe ann.1 lock; pass 3927; unpublish lock; "
          + "kill-system door"
      ),
      // A discovery that was cut short left bluetoothd without the services of a device that has no bond.
      (
        330,
        "open cat; publish cat; open dan; connect dan.1 cat; subscribe dan.1 cat; pass 1724; kill-system tablet; "
          + "pass 184; away strap; pass 2976"
      ),
      // A peripheral was told twice, because it was queued when the app's process ended.
      (
        246,
        "publish lock; open dan; connect dan.1 lock; subscribe dan.1 lock; pass 10000; kill-system strap 5; "
          + "cancel dan.1 lock; kill dan"
      ),
      // The simulator kept a link that both ends had lost.
      (38, "open cat; publish lock; connect cat.1 lock; pass 1000; plug door off; restart-bluetoothd tablet"),
      // latchkeyd died between storing a cancellation and asking for the end of the link, on a machine with services.
      (
        386,
        "open heart; publish heart; publish lock; open dan; connect dan.1 lock; subscribe dan.1 lock; pass 9939; "
          + "kill-system strap 2; cancel dan.1 lock"
      ),
      // The same, while bluetoothd was still trying to connect.
      (
        696,
        "open heart; publish heart; publish lock; open dan; connect dan.1 lock; pass 10; away door; pass 2051; "
          + "kill-system strap 1; drop dan.1"
      ),
      // The same, with the device on the accept list.
      (
        696,
        "open heart; publish heart; publish lock; open dan; connect dan.1 lock; subscribe dan.1 lock; pass 16271; "
          + "away door; pass 2051; kill-system strap 1; drop dan.1"
      ),
      // latchkeyd died between storing that an app was quit and ending its process, and the next one adopted it.
      (
        1109,
        "open cat; publish cat; open lock; publish lock; open ann; make ann.2; connect ann.2 cat; open bob; "
          + "connect bob.1 lock; subscribe bob.1 lock; pass 10000; away phone; pass 10872; kill-system phone 4; "
          + "pass 31595; quit ann"
      ),
      // bluetoothd went on with an attempt that a latchkeyd had begun that has died since.
      (
        696,
        "open cat; publish cat; open heart; publish heart; publish lock; open dan; connect dan.1 lock; "
          + "connect dan.1 cat; pass 298; away door; pass 1000; kill-system strap 1; pass 10000; drop dan.1"
      ),
      // An app that died of the news that its connection was lost never asked again.
      (8, "open cat; publish lock; connect cat.1 lock; pass 1000; kill cat 3; kill-bluetoothd tablet"),
      // An app and its latchkeyd died together, after the app was told of a loss and before latchkeyd had heard so: its
      // next process is restored as before, and told once more. The promise was too strict.
      (
        501_112,
        "open heart; publish heart; open ann; make ann.2; connect ann.2 heart; connect ann.1 heart; pass 1000; "
          + "kill-system phone 10; kill ann 3; restart-bluetoothd phone"
      ),
      // The same, but the app had asked for the connection again: latchkeyd knows by that what it was told. The promise was
      // too strict.
      (
        1_010_760,
        "publish lock; open cat; connect cat.1 lock; pass 1000; kill cat 2; kill-system tablet 6; reboot tablet"
      ),
      (
        1_013_676,
        "open cat; publish cat; open ann; connect ann.1 cat; make ann.2; connect ann.2 cat; pass 4596; kill ann 1; "
          + "kill-system phone 5; away phone; pass 4728; subscribe ann.1 cat"
      ),
      // latchkeyd died during a read: its answer looks like one more notification. The promise was too strict.
      (
        1_006_196,
        "open cat; publish cat; open ann; connect ann.1 cat; subscribe ann.1 cat; pass 8183; push cat; read ann.1 cat; "
          + "kill-system phone"
      ),
      // The mark that changes a Database Hash was registered at a bluetoothd that stopped, reached the next one, and was
      // in the way of every later mark.
      (
        2_000_230,
        "publish lock; open ann; make ann.2; connect ann.2 lock; subscribe ann.2 lock; open dan; pass 12517; away phone; "
          + "pass 6066; near phone; pass 8793; restart-bluetoothd door; pass 95; connect dan.1 lock; pass 3539; "
          + "unpublish lock; pass 100; away phone; pass 1000"
      ),
      // Values that waited for a suspended app came after the news that their link was lost: bluetoothd, started anew, showed
      // the link, and its adapter was not on yet.
      (
        2_200_372,
        "open cat; publish cat; open bob; make bob.1; connect bob.1 cat; subscribe bob.1 cat; pass 7175; leave bob; "
          + "pass 14623; kill-system phone; pass 289; flood cat; pass 1098; kill-bluetoothd phone; open bob"
      ),
      // A half-made bond ended the request, and stayed, where bluetoothd says why links end.
      (
        1,
        "open lock; publish lock; open ann; connect ann.1 lock; subscribe ann.1 lock; pass 1775; kill-bluetoothd door; "
          + "pass 60000"
      ),
    ] as [(UInt64, String)])
  func found(_ seed: UInt64, steps: String) throws {
    let schedule = Schedule(seed: seed, steps: try Schedule.steps(steps).get())
    #expect(Trial(schedule).complaints == [])
  }
}
