import AppLink
import BluetoothTypes

/// What an app's managers hold, as far as the app has told it before its managers are resumed: a long list of
/// peripherals comes in parts.
struct HeldViews: Sendable {
  private var views: [ManagerIdentifier: ManagerView] = [:]

  /// A part of what a manager holds, of which the rest comes when it is resumed. What exceeds the limit of all parts
  /// together is left out.
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

  /// The view of a manager that is resumed, with the parts that came before.
  mutating func take(completing rest: ManagerView, of manager: ManagerIdentifier) -> ManagerView {
    guard let held = views.removeValue(forKey: manager) else { return rest }
    var view = rest
    view.peripherals = held.peripherals + rest.peripherals
    view.connectOptions.merge(held.connectOptions) { rest, _ in rest }
    return view
  }
}
