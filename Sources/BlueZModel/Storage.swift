import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// What bluetoothd keeps in /var/lib/bluetooth. It survives restarts of bluetoothd and of the machine.
package struct BlueZStorage: Sendable, Hashable, Codable {
  package var devices: [StoredDevice] = []
  /// Adapter1.Alias, if a client set one.
  package var alias: String?
  /// Adapter1's timeouts and a `Discoverable` without an end, if a client set them.
  package var discoverableTimeoutSeconds: UInt32?
  package var pairableTimeoutSeconds: UInt32?
  package var isDiscoverable: Bool?
  /// How many keys were drawn, so that none is drawn twice.
  package var keyCount: UInt64 = 0
  package init() {}

  /// `devices/<address>/info` and `cache/<address>`.
  package struct StoredDevice: Sendable, Hashable, Codable {
    /// The identity address of a bonded device.
    package var address: DeviceAddress
    package var name: String?
    package var alias: String?
    package var appearance: UInt16?
    package var modalias: String?
    package var isTrusted = false
    package var isBlocked = false
    package var services: [BluetoothUUID] = []
    package var bond: Bond?
    package var database: RemoteDatabase?
    package init(address: DeviceAddress) { self.address = address }
  }
}

/// The keys that two devices share after pairing.
package struct Bond: Sendable, Hashable, Codable {
  /// 16 bytes.
  package var longTermKey: [UInt8]
  package var identityKey: IdentityResolvingKey?
  package var identityAddress: DeviceAddress
  /// Made with a number or passkey that a user checked, so safe from an attacker in the middle; otherwise by Just
  /// Works.
  package var isAuthenticated = false
  package init(longTermKey: [UInt8], identityKey: IdentityResolvingKey?, identityAddress: DeviceAddress) {
    self.longTermKey = longTermKey
    self.identityKey = identityKey
    self.identityAddress = identityAddress
  }
}

extension BlueZStorage {
  /// Keeps a device that is bonded, trusted or blocked. bluetoothd does not store others for long.
  mutating func keep(_ device: Device) {
    forget(device.address)
    guard device.isKept else { return }
    devices.append(StoredDevice(device))
    devices.sort { $0.address < $1.address }
  }

  mutating func forget(_ address: DeviceAddress) { devices.removeAll { $0.address == address } }

  /// The most devices on disk after `remember`.
  package static let rememberedLimit = 16_384

  /// Puts devices on disk as if the machine had bonded with them earlier and trusted them. Returns the reason if it
  /// can't, and changes nothing then.
  /// - Parameter seed: the seed of the devices' keys.
  mutating func remember(_ remembered: [RememberedDevice], seed: UInt64) -> String? {
    // An object's path does not contain the address's kind, so the bits must be unique.
    let known = Set(devices.map(\.address.bits))
    guard known.count + remembered.count <= Self.rememberedLimit else {
      return "a machine remembers at most \(Self.rememberedLimit) devices"
    }
    let addresses = Set(remembered.map(\.address.bits))
    guard addresses.count == remembered.count, known.isDisjoint(with: addresses) else {
      return "every device has an address of its own"
    }
    for device in remembered {
      var mixer = Mixer(seed, 0x7265_6D65)
      mixer.absorb(Array("\(device.address)".utf8))
      let key = [mixer.next(), mixer.next()].flatMap { word in
        (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
      }
      var stored = StoredDevice(address: device.address)
      stored.isTrusted = true
      stored.services = [device.service]
      stored.bond = Bond(longTermKey: key, identityKey: nil, identityAddress: device.address)
      devices.append(stored)
    }
    devices.sort { $0.address < $1.address }
    return nil
  }
}

extension BlueZStorage.StoredDevice {
  init(_ device: Device) {
    self.init(address: device.address)
    name = device.name
    alias = device.alias
    appearance = device.appearance
    modalias = device.modalias
    isTrusted = device.isTrusted
    isBlocked = device.isBlocked
    services = device.uuids
    bond = device.bond
    database = device.bond == nil ? nil : device.database
  }
}

extension Device {
  /// A device that bluetoothd finds on disk when it starts.
  init(_ stored: BlueZStorage.StoredDevice, path: ObjectPath, now: Instant) {
    self.init(path: path, address: stored.address, now: now)
    name = stored.name
    alias = stored.alias
    appearance = stored.appearance
    modalias = stored.modalias
    isTrusted = stored.isTrusted
    isBlocked = stored.isBlocked
    uuids = stored.services
    bond = stored.bond
    database = stored.database
    isTemporary = false
  }
}

extension BlueZModel {
  mutating func store(_ path: ObjectPath) {
    if let device = devices[path] { storage.keep(device) }
  }

  /// The devices' paths are made from their stored addresses.
  mutating func loadDevices() {
    for stored in storage.devices {
      let path = devicePath(stored.address)
      devices[path] = Device(stored, path: path, now: now)
    }
  }

  /// Puts devices on its disk, or returns why it can't.
  mutating func remember(_ remembered: [RememberedDevice]) -> String? {
    guard !isRunning else { return "bluetoothd runs, and would not see what is put on its disk" }
    return storage.remember(remembered, seed: configuration.seed)
  }
}
