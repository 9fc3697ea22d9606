import BlueZ
import BlueZModel

extension SimulatedHome {
  /// Hangs up every link of a machine or a peripheral, from its side. bluetoothd takes two seconds for that. A peripheral goes on
  /// advertising, and can be connected to again.
  public func disconnect(_ machine: String) { engine.run { $0.disconnect(machine) } }
}

extension HomeEngine {
  /// Asks the machine's bluetoothd, as `bluetoothctl disconnect` does. Nobody waits for the answers.
  func disconnect(_ name: String) {
    checkMachine(name)
    let user = nextClient()
    for (path, interfaces) in world.managedObjects(of: name).sorted(by: { $0.key < $1.key })
    where interfaces[InterfaceName.device]?["Connected"] == .bool(true) {
      work.append(.world(.message(machine: name, from: user, .call(CallIdentifier(1), path: path, .disconnect))))
    }
  }
}
