import AppLink
import BluetoothTypes

/// What an app has said about its managers' peripherals before it resumes the managers. A long list of peripherals
/// comes in parts.
struct HeldViews: Sendable {
  private var views: [ManagerIdentifier: ManagerView] = [:]

  /// Adds a part of a manager's list of peripherals. The rest comes with `resumeManager`.
  /// - Parameter limit: the most peripherals in all parts together. What exceeds it is left out.
  mutating func add(
    _ peripherals: [PeripheralSnapshot], _ options: [PeerIdentifier: ConnectOptions], of manager: ManagerIdentifier,
    limit: Int
  ) {
    let room = limit - views.values.reduce(0) { $0 + $1.peripherals.count }
    for snapshot in peripherals.prefix(max(room, 0)) {
      views[manager, default: ManagerView()].peripherals.append(snapshot)
      views[manager]?.connectOptions[snapshot.identifier] = options[snapshot.identifier]
    }
  }

  /// Returns the whole view of a manager that is resumed: the parts that came before, and the rest.
  mutating func take(completing rest: ManagerView, of manager: ManagerIdentifier) -> ManagerView {
    guard let held = views.removeValue(forKey: manager) else { return rest }
    var view = rest
    view.peripherals = held.peripherals + rest.peripherals
    view.connectOptions.merge(held.connectOptions) { rest, _ in rest }
    return view
  }
}
