import BlueZ
import BusValue
import Dispatch
import Synchronization
import SystemBus

/// This machine's bluetoothd, for a thread that waits for each answer.
final class BluetoothBus: Sendable {
  private let bus: Bus
  /// Something has changed: bluetoothd appeared, or one of its objects.
  private let changed = DispatchSemaphore(value: 0)
  private static let answerLimit: Duration = .seconds(20)

  init() throws(BusError) {
    bus = try Bus()
    try bus.start(
      BusHandlers(onSignal: { [changed] _, _ in changed.signal() }))
    bus.enqueue { [changed] bus in
      bus.addMatch(
        MatchRule(sender: WellKnown.busName, interface: InterfaceName.objectManager, member: "InterfacesAdded"))
      bus.watchOwner(of: WellKnown.busName) { _, _ in changed.signal() }
    }
  }

  deinit { bus.close() }

  /// bluetoothd's first adapter. Waits for it, because bluetoothd appears before its adapters do.
  /// - Throws: `.noAdapter`, `.noBluetoothd`.
  func adapter(within limit: DispatchTimeInterval) throws(SetupProblem) -> AdapterState {
    let deadline = DispatchTime.now() + limit
    var isThere = false
    while true {
      let objects = try? call(
        MethodCall(
          to: WellKnown.busName, path: .root, interface: InterfaceName.objectManager, member: "GetManagedObjects"))
      isThere = objects != nil
      if let adapter = AdapterState.first(in: objects?.first) { return adapter }
      guard changed.wait(timeout: deadline) == .success else { break }
    }
    throw isThere ? .noAdapter : .noBluetoothd
  }

  func turnOn(_ adapter: AdapterState) throws(SetupProblem) {
    if adapter.isBlocked { throw .adapterBlocked(name: adapter.name) }
    guard !adapter.isPowered else { return }
    do {
      _ = try call(
        MethodCall(
          to: WellKnown.busName, path: adapter.path, interface: InterfaceName.properties, member: "Set",
          arguments: [.string(Adapter1.interface), .string(Adapter1.name(\.powered)), .variant(.bool(true))]))
    } catch {
      // bluetoothd before 5.65 has no PowerState, and reports blocking this way (src/adapter.c, property_set_mode).
      if BlueZError.Kind(rawValue: error.name) == .blocked || error.message.contains("rfkill") {
        throw .adapterBlocked(name: adapter.name)
      }
      throw .adapterStaysOff(name: adapter.name, reason: "\(error)")
    }
  }

  private func call(_ call: MethodCall) throws(BusError) -> [Value] {
    let answered = DispatchSemaphore(value: 0)
    let outcome = Mutex<Result<[Value], BusError>>(.failure(.disconnected))
    bus.enqueue { bus in
      bus.call(call, timeout: Self.answerLimit) { result in
        outcome.withLock { $0 = result }
        answered.signal()
      }
    }
    answered.wait()
    return try outcome.withLock { $0 }.get()
  }
}
