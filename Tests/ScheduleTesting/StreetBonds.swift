import BlueZ
import BlueZModel

extension Street {
  /// Every machine's user removes all bonds. Returns whether there was none.
  mutating func forgetPairings() -> Bool {
    run()
    let bonded = cast.machines.filter { machine in
      world.managedObjects(of: machine).values.contains {
        PropertyValues<Device1>($0[InterfaceName.device] ?? [:]).bonded == true
      }
    }
    for machine in bonded { open.append(.world(.command(.forgetPairings(machine: machine)))) }
    run()
    return bonded.isEmpty
  }
}
