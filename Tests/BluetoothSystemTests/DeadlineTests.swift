import Testing
import TimeTypes

@testable import BluetoothSystem

/// A deadline without an alarm is a hang. So for every future time that any part of a system stores, the alarm must
/// ring by then, except for times that only say from when something is allowed.
@Suite("Deadlines", .serialized, .ownThread)
struct DeadlineTests {
  private static let permissions: Set<String> = [
    // From when an app may be started, a peripheral connected or credit given. Nothing happens by itself then, or
    // whatever wants it has a deadline of its own.
    "notBefore", "creditNotBefore", "wakeNotBefore",
    // For an app that is awake: it never goes to rest by itself later than this.
    "wakeDeadline",
    // Held requests must not wake the machine: what is late is read when the system is awake anyway.
    "dueAt",
    // How a registration is to be taken, if there is one.
    "youngUntil",
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
