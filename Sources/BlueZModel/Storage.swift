import BluetoothTypes
import BusValue
import Radio

/// What bluetoothd keeps in /var/lib/bluetooth: it survives its restart and the machine's.
public struct BlueZStorage: Sendable, Hashable, Codable {
  public var devices: [StoredDevice] = []
  /// Adapter1.Alias, where somebody set one.
  public var alias: String?
  /// How many keys were drawn, so that none is drawn twice.
  public var keyCount: UInt64 = 0
  public init() {}

  /// `devices/<address>/info` and `cache/<address>`.
  public struct StoredDevice: Sendable, Hashable, Codable {
    /// The identity address of a bonded device.
    public var address: DeviceAddress
    public var name: String?
    public var alias: String?
    public var appearance: UInt16?
    public var modalias: String?
    public var isTrusted = false
    public var isBlocked = false
    public var services: [BluetoothUUID] = []
    public var bond: Bond?
    public var database: RemoteDatabase?
    public init(address: DeviceAddress) { self.address = address }
  }
}

/// The keys that two devices share after pairing.
public struct Bond: Sendable, Hashable, Codable {
  /// 16 bytes.
  public var longTermKey: [UInt8]
  public var identityKey: IdentityResolvingKey?
  public var identityAddress: DeviceAddress
  /// Made with a number or a passkey that somebody compared, so with nobody in between; else by Just Works.
  public var isAuthenticated = false
  public init(longTermKey: [UInt8], identityKey: IdentityResolvingKey?, identityAddress: DeviceAddress) {
    self.longTermKey = longTermKey
    self.identityKey = identityKey
    self.identityAddress = identityAddress
  }
}

extension BlueZModel {
  /// Writes what must survive: devices that are bonded or trusted, as bluetoothd stores no others for long.
  mutating func store(_ path: ObjectPath) {
    guard let device = devices[path] else { return }
    storage.devices.removeAll { $0.address == device.address }
    guard device.isKept else { return }
    var stored = BlueZStorage.StoredDevice(address: device.address)
    stored.name = device.name
    stored.alias = device.alias
    stored.appearance = device.appearance
    stored.modalias = device.modalias
    stored.isTrusted = device.isTrusted
    stored.isBlocked = device.isBlocked
    stored.services = device.uuids
    stored.bond = device.bond
    stored.database = device.bond == nil ? nil : device.database
    storage.devices.append(stored)
    storage.devices.sort { $0.address < $1.address }
  }

  /// The most devices on disk after `remember`.
  public static let rememberedLimit = 4096

  /// Puts devices on disk that were bonded and trusted in an earlier life. Returns why not; then nothing has changed.
  mutating func remember(_ remembered: [RememberedDevice]) -> String? {
    guard !isRunning else { return "bluetoothd runs, and would not see what is put on its disk" }
    // An object's path has no room for the address's kind.
    let known = Set(storage.devices.map(\.address.bits))
    guard known.count + remembered.count <= Self.rememberedLimit else {
      return "a machine remembers at most \(Self.rememberedLimit) devices"
    }
    let addresses = Set(remembered.map(\.address.bits))
    guard addresses.count == remembered.count, known.isDisjoint(with: addresses) else {
      return "every device has an address of its own"
    }
    for device in remembered {
      var mixer = Mixer(configuration.seed, 0x7265_6D65)
      mixer.absorb(Array("\(device.address)".utf8))
      let key = [mixer.next(), mixer.next()].flatMap { word in
        (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
      }
      var stored = BlueZStorage.StoredDevice(address: device.address)
      stored.isTrusted = true
      stored.services = [device.service]
      stored.bond = Bond(longTermKey: key, identityKey: nil, identityAddress: device.address)
      storage.devices.append(stored)
    }
    storage.devices.sort { $0.address < $1.address }
    return nil
  }

  /// The devices that bluetoothd finds on disk when it starts. Their paths follow the address they are stored by.
  mutating func loadDevices() {
    for stored in storage.devices {
      var device = Device(path: devicePath(stored.address), address: stored.address, now: now)
      device.name = stored.name
      device.alias = stored.alias
      device.appearance = stored.appearance
      device.modalias = stored.modalias
      device.isTrusted = stored.isTrusted
      device.isBlocked = stored.isBlocked
      device.uuids = stored.services
      device.bond = stored.bond
      device.database = stored.database
      device.isTemporary = false
      devices[device.path] = device
    }
  }
}
