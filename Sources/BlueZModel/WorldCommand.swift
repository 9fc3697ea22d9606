import BluetoothTypes
import Radio

/// A machine to add to a world.
public struct SimulatedMachine: Sendable {
  public var name: String
  public var position: Position
  /// `nil`: drawn from the world's seed and the name.
  public var address: DeviceAddress?
  /// `Privacy = device`: resolvable private addresses on the air.
  public var isPrivate: Bool
  public var storage: BlueZStorage
  /// Which adapter of a machine with several this is; each has a name of its own.
  public var adapterNumber = 0
  /// bluetoothd's `--experimental`: AdvertisementMonitorManager1 is there.
  public var isExperimental = false
  public init(
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

/// What is done to a world from outside of its buses.
public enum WorldCommand: Sendable, Hashable, Codable {
  /// Places a machine, in metres.
  case move(machine: String, x: Double, y: Double)
  /// Carries a machine there on foot, in metres: straight and evenly from where it is, within that many seconds, which are
  /// more than none and at most a hundred years' worth. A `move` ends the walk.
  case walk(machine: String, x: Double, y: Double, seconds: Double)
  /// A shielded machine neither hears nor is heard.
  case shield(machine: String, isOn: Bool)
  /// Takes the controller out (false) or puts it back: links drop, the kernel forgets whom it looks for.
  case plug(machine: String, isOn: Bool)
  /// rfkill.
  case block(machine: String, isOn: Bool)
  /// Restarts bluetoothd, by SIGTERM or, `killed`, by SIGKILL.
  case restartBluetoothd(machine: String, killed: Bool)
  case stopBluetoothd(machine: String, killed: Bool)
  case startBluetoothd(machine: String)
  /// The machine ends. Bonds and caches are on its disk.
  case shutDown(machine: String)
  case boot(machine: String)
  /// Devices that the machine's bluetoothd has bonded with earlier and that are not here now. They are put on its disk
  /// while it does not run (`stopBluetoothd` before, `startBluetoothd` after), so they are there as after a reboot.
  /// All have addresses of their own; a machine remembers at most `BlueZStorage.rememberedLimit`.
  case remember(machine: String, devices: [RememberedDevice])
  /// Something that only a broken or hostile device sends.
  case hear(machine: String, input: BadInput)

  public var machine: String {
    switch self {
    case .move(let machine, _, _), .walk(let machine, _, _, _), .shield(let machine, _), .plug(let machine, _),
      .block(let machine, _),
      .restartBluetoothd(let machine, _), .stopBluetoothd(let machine, _), .startBluetoothd(let machine),
      .shutDown(let machine), .boot(let machine), .remember(let machine, _), .hear(let machine, _):
      machine
    }
  }
}

/// A device that a machine has bonded with and trusts, and that has one service.
public struct RememberedDevice: Sendable, Hashable, Codable {
  /// Its identity address.
  public var address: DeviceAddress
  public var service: BluetoothUUID
  public init(address: DeviceAddress, service: BluetoothUUID) {
    self.address = address
    self.service = service
  }
}

public enum BadInput: String, Sendable, Hashable, Codable, CaseIterable {
  case malformedAdvertisement
  case notificationForUnknownHandle
}

/// What a world's journal says.
public enum WorldEvent: Sendable, Hashable, Codable {
  /// Somebody carries the machine away from there; and has brought it there.
  case walkBegan(machine: String, x: Double, y: Double)
  case walkEnded(machine: String, x: Double, y: Double)
  case linkUp(central: String, peripheral: String, link: UInt64)
  case linkDown(central: String, peripheral: String, link: UInt64, reason: String)
  case bluetoothdStarted(machine: String)
  case bluetoothdStopped(machine: String, cause: String)
  case adapterPowered(machine: String, isOn: Bool)
  /// What bluetoothd logs of bad input and of failures.
  case diagnostic(machine: String, text: String)
}
