import ProcessTesting
import ScheduleTesting
import Testing

@Suite("A small world", .serialized, .ownThread)
struct SmallWorldTests {
  @Test("S1–S13: in every order of two events, every promise is kept")
  func everyOrder() {
    let world = SmallWorld(events: 2)
    #expect(world.broken.map(\.complaint) == [])
    // Each event once, then each two, as far as they lead to another state.
    #expect(world.levels[0] == 1)
    #expect(world.levels[1] >= 8)
    #expect(world.levels[2] >= 50)
  }

  @Test("Orders that lead to the same state are carried on once")
  func symmetry() throws {
    func fingerprint(_ steps: String) throws -> Fingerprint {
      SmallWorld.fingerprint(after: try Schedule.steps(steps).get())
    }
    // What happens on one machine and what happens on the other, at the same time.
    #expect(try fingerprint("push lock; kill ann") == fingerprint("kill ann; push lock"))
    #expect(try fingerprint("away phone; push lock") == fingerprint("push lock; away phone"))
    // What changes nothing. Processes, calls and links have other numbers after it.
    #expect(try fingerprint("connect ann.1 lock") == fingerprint(""))
    #expect(try fingerprint("leave ann; kill ann") == fingerprint("kill ann; leave ann"))
  }

  @Test("States in which something else can happen are different")
  func differences() throws {
    let ways = [
      "", "push lock", "push lock; push lock", "kill ann", "leave ann", "cancel ann.1 lock", "away phone", "pass 12000",
      "kill-system phone", "kill-bluetoothd phone", "kill-system phone; kill-bluetoothd phone",
      "away phone; pass 12000", "kill ann; open ann",
    ]
    var found: [Fingerprint: String] = [:]
    for way in ways {
      let fingerprint = SmallWorld.fingerprint(after: try Schedule.steps(way).get())
      #expect(found[fingerprint] == nil, "\(way)")
      found[fingerprint] = way
    }
  }

  @Test(
    "H7: planted faults are found in a small world of two events",
    arguments: [Fault.losesLosses, .forgetsToResume])
  func isFound(_ fault: Fault) { #expect(!SmallWorld(events: 2, fault: fault).broken.isEmpty) }
}
