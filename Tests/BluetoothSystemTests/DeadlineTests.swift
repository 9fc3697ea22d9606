import Testing
import TimeTypes

@testable import BluetoothSystem

/// A deadline that the alarm does not know of is a hang. So whatever point in time ahead a system keeps, in whatever part,
/// its alarm rings by then; but for those that only say from when on something may be.
@Suite("Deadlines", .serialized, .ownThread)
struct DeadlineTests {
  private static let permissions: Set<String> = [
    // From when on an app may be started, a peripheral connected, credit given: nothing happens by itself then, or what
    // wants it has a deadline of its own.
    "notBefore", "creditNotBefore",
    // Of an app that is awake: when it goes to rest by itself is never later.
    "wakeDeadline",
    // Held requests wake nobody: what is late is read when the system is awake anyway.
    "dueAt",
    // The alarm itself.
    "nextDeadline", "overdue",
  ]

  private func ahead(_ value: Any, _ path: String, after now: Instant) -> [(path: String, time: Instant)] {
    if let time = value as? Instant { return time > now ? [(path, time)] : [] }
    return Mirror(reflecting: value).children.flatMap { child in
      Self.permissions.contains(child.label ?? "")
        ? [] : ahead(child.value, path + "." + (child.label ?? ""), after: now)
    }
  }

  @Test("Whatever is due has an alarm, under any order of faults", arguments: 1...6)
  func alarms(seed: Int) {
    var forgotten: Set<String> = []
    _ = WholeSystemTests.story(seed) { house in
      for (name, machine) in house.machines where machine.system.bluez.isPresent {
        let alarm = machine.system.nextDeadline
        for (path, time) in ahead(machine.system, name, after: house.now) where alarm.map({ $0 > time }) ?? true {
          forgotten.insert(path)
        }
      }
    }
    #expect(forgotten.isEmpty)
  }
}
