import BluetoothTypes
import Radio

/// A machine to add to a world.
package struct SimulatedMachine: Sendable {
  package var name: String
  package var position: Position
  /// `nil`: drawn from the world's seed and the name.
  package var address: DeviceAddress?
  /// `Privacy = device`: resolvable private addresses on the air.
  package var isPrivate: Bool
  package var storage: BlueZStorage
  /// The adapter's number, for a machine with several adapters. Each adapter has its own entry with its own name.
  package var adapterNumber = 0
  /// bluetoothd's `--experimental`, which provides AdvertisementMonitorManager1.
  package var isExperimental = false
  /// A controller for classic Bluetooth and Low Energy (`BlueZConfiguration.isDualMode`).
  package var isDualMode = false
  /// The connection interval of the links that it makes (`BlueZConfiguration.connectionInterval`).
  package var connectionInterval: Duration = .milliseconds(30)
  /// Whether its bluetoothd publishes Device Information (`BlueZConfiguration.hasDeviceInformation`).
  package var hasDeviceInformation = true
  package init(
    name: String, position: Position = Position(x: 0, y: 0), address: DeviceAddress? = nil, isPrivate: Bool = false,
    storage: BlueZStorage = BlueZStorage()
  ) {
    self.name = name
    self.position = position
    self.address = address
    self.isPrivate = isPrivate
    self.storage = storage
  }
}

/// What is done to a world from outside its buses.
package enum WorldCommand: Sendable, Hashable, Codable {
  /// Places a machine, in metres.
  case move(machine: String, x: Double, y: Double)
  /// Carries a machine to a place on foot, in metres: straight and at an even pace, within that many seconds. The
  /// time is more than zero and at most a hundred years. A `move` ends the walk.
  case walk(machine: String, x: Double, y: Double, seconds: Double)
  /// A shielded machine neither receives nor is received.
  case shield(machine: String, isOn: Bool)
  /// Unplugs the controller (false) or plugs it in. Links drop, and the kernel forgets which devices it looks for.
  case plug(machine: String, isOn: Bool)
  /// A client of its bluetoothd switches the adapter's power off (false) or on.
  case power(machine: String, isOn: Bool)
  /// A client of its bluetoothd removes every device that the machine is bonded with. The others keep their bonds.
  case forgetPairings(machine: String)
  /// rfkill.
  case block(machine: String, isOn: Bool)
  /// Restarts bluetoothd, by SIGTERM or, if `killed`, by SIGKILL.
  case restartBluetoothd(machine: String, killed: Bool)
  case stopBluetoothd(machine: String, killed: Bool)
  case startBluetoothd(machine: String)
  /// The machine shuts down, which ends its links. Bonds and caches stay on its disk.
  case shutDown(machine: String)
  /// As `shutDown`, but without telling the peers: they find out by their timeout.
  case cutPower(machine: String)
  case boot(machine: String)
  /// Devices that the machine's bluetoothd has bonded with earlier and that are not present now. They are put on its
  /// disk while bluetoothd is not running (`stopBluetoothd` before, `startBluetoothd` after), so they are there as
  /// after a reboot. Each has its own address. A machine remembers at most `BlueZStorage.rememberedLimit`.
  case remember(machine: String, devices: [RememberedDevice])
  /// Input that only a broken or hostile device sends.
  case hear(machine: String, input: BadInput)

  package var machine: String {
    switch self {
    case .move(let machine, _, _), .walk(let machine, _, _, _), .shield(let machine, _), .plug(let machine, _),
      .power(let machine, _), .block(let machine, _),
      .restartBluetoothd(let machine, _), .stopBluetoothd(let machine, _), .startBluetoothd(let machine),
      .shutDown(let machine), .cutPower(let machine), .boot(let machine), .forgetPairings(let machine),
      .remember(let machine, _),
      .hear(let machine, _):
      machine
    }
  }
}

/// A device with one service that a machine has bonded with and trusts.
package struct RememberedDevice: Sendable, Hashable, Codable {
  /// Its identity address.
  package var address: DeviceAddress
  package var service: BluetoothUUID
  package init(address: DeviceAddress, service: BluetoothUUID) {
    self.address = address
    self.service = service
  }
}

package enum BadInput: String, Sendable, Hashable, Codable, CaseIterable {
  case malformedAdvertisement
  case notificationForUnknownHandle
}

/// The entries of a world's journal.
package enum WorldEvent: Sendable, Hashable, Codable {
  /// A machine's walk begins at this place, or has ended at this place.
  case walkBegan(machine: String, x: Double, y: Double)
  case walkEnded(machine: String, x: Double, y: Double)
  case linkUp(central: String, peripheral: String, link: UInt64)
  case linkDown(central: String, peripheral: String, link: UInt64, reason: String)
  case bluetoothdStarted(machine: String)
  case bluetoothdStopped(machine: String, cause: String)
  case adapterPowered(machine: String, isOn: Bool)
  // What is on the air, if the world records it (`SimulatedWorld.recordsAir`).
  case advertisingBegan(machine: String, set: UInt8, AirContent)
  case advertisingEnded(machine: String, set: UInt8)
  case scanningChanged(machine: String, isOn: Bool)
  /// What bluetoothd logs about bad input and failures.
  case diagnostic(machine: String, text: String)
}
