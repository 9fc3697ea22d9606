import BusValue
import Synchronization
import SystemBus

/// Hears from logind when the machine has slept (org.freedesktop.login1(5), PrepareForSleep).
final class SleepWatch: Sendable {
  private static let manager = "org.freedesktop.login1"
  private let bus: Bus
  /// logind's name on the bus. Signals of other senders are ignored.
  private let owner: Owner

  private final class Owner: Sendable {
    let name = Mutex<String?>(nil)
  }

  /// `onResume` is called on the bus's thread. Without logind it is never called.
  init(address: BusAddress = .system, onResume: @escaping @Sendable () -> Void) throws(BusError) {
    bus = try Bus(address: address)
    let owner = Owner()
    self.owner = owner
    try bus.start(
      BusHandlers(onSignal: { _, signal in
        // True before sleep, false after it.
        guard signal.member == "PrepareForSleep", signal.arguments.first?.boolValue == false,
          owner.name.withLock({ $0 == signal.sender })
        else { return }
        onResume()
      }))
    bus.enqueue { bus in
      bus.addMatch(
        MatchRule(sender: Self.manager, interface: Self.manager + ".Manager", member: "PrepareForSleep"))
      bus.watchOwner(of: Self.manager) { _, name in owner.name.withLock { $0 = name } }
    }
  }

  deinit { bus.close() }

  func close() { bus.close() }
}
