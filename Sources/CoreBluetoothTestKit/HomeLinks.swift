import BlueZ
import BlueZModel

extension SimulatedHome {
  /// Ends every link of a machine or a peripheral, from its side. bluetoothd takes two seconds for that. A peripheral
  /// goes on advertising, and centrals can connect to it again.
  public func disconnect(_ machine: String) { engine.run { $0.disconnect(machine) } }
}

extension HomeEngine {
  /// Sets the name of the machine's adapter, which is its GAP name, as `bluetoothctl system-alias` does.
  func rename(_ name: String, to new: String) {
    run { engine in
      let call = ClientMessage.call(CallIdentifier(1), path: WellKnown.firstAdapter, .set(\Adapter1.alias, to: new))
      engine.work.append(.world(.message(machine: name, from: engine.nextClient(), call)))
    }
  }

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
