import ProcessTesting
import ScheduleTesting
import Testing

/// A test of the test: a system with a planted fault breaks a promise, and the same schedule without the fault does not.
@Suite("Planted faults", .serialized, .ownThread)
struct FaultTests {
  /// The fewest steps that show a fault, as `schedule-soak --fault` shrank them, and the seed of their world.
  private static let schedules: [Fault: (seed: UInt64, steps: String)] = [
    .promisesBeforeStoring: (
      34,
      "open cat; publish cat; open ann; connect ann.1 cat; subscribe ann.1 cat; "
        + "kill-system tablet 10; pass 3204; kill-system phone; pass 100; quit cat"
    ),
    .forgetsRequestsOnDisk: (3, "open cat; publish cat; open dan; connect dan.1 cat; pass 10; reboot strap"),
    .forgetsCancellationsOnDisk: (
      7,
      "open lock; publish lock; open dan; connect dan.1 lock; pass 1000; kill dan; reboot strap"
    ),
    .forgetsPublishedServicesOnDisk: (3, "open cat; publish cat; reclaim cat; kill-system tablet"),
    .forgetsThatTheUserQuit: (24, "quit lock; reboot door"),
    .forgetsScansOnDisk: (1, "open cat; connect cat.1 lock; kill cat; kill-system tablet"),
    .tellsConnectionsTwice: (1, "open dan; connect dan.1 lock"),
    .tellsLossesTwice: (1, "open ann; make ann.2; connect ann.2 heart"),
    .losesConnections: (
      1,
      "open cat; publish cat; open ann; connect ann.1 cat; open dan; connect dan.1 cat; "
        + "pass 1000; away phone; pass 1000"
    ),
    .losesLosses: (
      1,
      "open cat; publish cat; open ann; connect ann.1 cat; subscribe ann.1 cat; pass 2837; "
        + "away phone; pass 10000"
    ),
    .losesRestoration: (1, "open cat; connect cat.1 lock; kill cat"),
    .restoresLate: (1, "open cat; connect cat.1 lock; kill cat"),
    .restoresTooLittle: (2, "open cat; publish cat; open ann; connect ann.1 cat; pass 10; kill ann"),
    .restoresAsConnected: (
      2,
      "open heart; publish heart; publish lock; open ann; connect ann.1 heart; kill ann 2; "
        + "pass 265"
    ),
    .losesValues: (1, "open ann; connect ann.1 cat; subscribe ann.1 cat"),
    .tellsValuesTwice: (1, "open ann; connect ann.1 cat; subscribe ann.1 cat"),
    .losesDiscoveries: (1, "open ann; make ann.2; connect ann.2 heart"),
    .tellsDiscoveriesTwice: (1, "open ann; make ann.2; connect ann.2 heart"),
    .losesSubscribers: (1, "open ann; connect ann.1 cat; subscribe ann.1 cat"),
    .losesEndsOfOperations: (1, "open ann; make ann.2; connect ann.2 heart; subscribe ann.2 heart"),
    .forgetsToLaunch: (
      2,
      "open heart; publish heart; publish lock; open ann; connect ann.1 heart; kill ann 2; "
        + "pass 265"
    ),
    .launchesTwice: (1, ""),
    .forgetsToResume: (1, "open dan; connect dan.1 lock; leave dan"),
    .killsAtRandom: (
      1,
      "open bob; open dan; leave dan; pass 2238; kill-system strap 5; pass 2271; pass 2837; "
        + "pass 1000; connect dan.1 lock; pass 1000; pass 953; leave bob"
    ),
    .launchesAsOpened: (2, ""),
    .neverConnects: (1, "open ann; make ann.2; connect ann.2 heart"),
    .neverRegistersServices: (1, "open ann; make ann.2; connect ann.2 heart"),
    .neverAdvertises: (1, "open ann; make ann.2; connect ann.2 heart"),
    .neverSubscribes: (1, "open dan; connect dan.1 lock; subscribe dan.1 lock"),
    .neverScans: (1, "open ann; make ann.2; connect ann.2 heart"),
    .neverDisconnects: (1, "open cat; connect cat.1 lock"),
    .neverAnswers: (1, "open dan; connect dan.1 lock; subscribe dan.1 lock"),
    .forgetsTheAcceptList: (
      6,
      "publish lock; open ann; connect ann.1 lock; subscribe ann.1 lock; pass 10000; reboot phone"
    ),
    .connectsAtOnce: (1, "open cat; publish cat; open dan; scan dan.1; pass 1000; delay dan.1 cat"),
    .neverListens: (1, "open lock; listen lock"),
    .losesChannels: (1, "open lock; open ann; connect ann.1 lock; listen lock"),
    .losesWatchedLinks: (
      1, "open cat; publish cat; open ann; watch ann.1; open bob; connect bob.1 cat; pass 10000; cancel bob.1 cat"
    ),
    .tellsWatchedLinksTwice: (1, "open ann; watch ann.1; open bob; connect bob.1 cat"),
    .pushesNothing: (1, "open ann; connect ann.1 cat; subscribe ann.1 cat"),
    .keepsChannelsOfTheDead: (
      2,
      "open lock; publish lock; listen lock; open ann; connect ann.1 lock; pass 5000; channel ann.1 lock; pass 5000; "
        + "kill lock"
    ),
    .forgetsIdentifiers: (1, "open ann; connect ann.1 lock"),
    .losesAnswersToQueries: (1, "open ann; connect ann.1 lock"),
    .forgetsPeersOnDisk: (
      1,
      "open cat; publish cat; open dan; connect dan.1 cat; pass 10000; away tablet; reboot strap; open dan; pass 1000; "
        + "retrieve dan.1"
    ),
    .takesLossesForLostBonds: (
      1, "open lock; publish lock; open ann; connect ann.1 lock; pass 5000; unpair strap; away phone; pass 10000"
    ),
    .refusesForLostBonds: (1, "open lock; publish lock; unpair strap; open ann; connect ann.1 lock; pass 5000"),
    .losesLostBonds: (
      1,
      "open lock; publish lock; open ann; connect ann.1 lock; subscribe ann.1 lock; pass 10000; unpair door; "
        + "pass 60000"
    ),
    .ignoresLostBonds: (
      1,
      "open lock; publish lock; open ann; connect ann.1 lock; subscribe ann.1 lock; pass 10000; unpair door; "
        + "pass 60000"
    ),
  ]

  /// The words of the check that is to find a fault, where another one must not find it in its place.
  private static let checks: [Fault: String] = [
    .keepsChannelsOfTheDead: "L2CAP channels to lock", .forgetsIdentifiers: "identifiers mean nothing any more",
    .forgetsPeersOnDisk: "identifiers mean nothing any more",
    .losesAnswersToQueries: "retrieval was never answered", .takesLossesForLostBonds: "which it is not",
    .refusesForLostBonds: "which it is not", .losesLostBonds: "is not told",
    .ignoresLostBonds: "is not told",
  ]

  @Test("H7: each planted fault breaks a promise", arguments: Fault.allCases)
  func isFound(_ fault: Fault) throws {
    let shown = try #require(Self.schedules[fault], "no schedule shows this fault")
    let schedule = Schedule(seed: shown.seed, steps: try Schedule.steps(shown.steps).get())
    let complaints = Trial(schedule, fault: fault).complaints
    #expect(!complaints.isEmpty)
    if let check = Self.checks[fault] { #expect(complaints.contains { $0.contains(check) }, "\(complaints)") }
    #expect(Trial(schedule).complaints == [])
  }

  @Test("H7: there are enough planted faults") func count() { #expect(Fault.allCases.count >= 20) }
}
