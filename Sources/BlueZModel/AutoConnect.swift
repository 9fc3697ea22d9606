import BlueZ
import BluetoothTypes
import BusValue
import Radio

/// A device's entry on the kernel's list.
extension Device {
  /// A profile for some services was registered. The entry is made anew with the device's present address or
  /// identity.
  mutating func arm(for uuids: Set<BluetoothUUID>) {
    guard !isTemporary, !uuids.isDisjoint(with: self.uuids) else { return }
    autoConnect = target
    isAutoConnectParked = false
  }

  /// Adds an entry if a profile wants the device. An existing entry keeps its address, even if the device's identity
  /// has become known since.
  mutating func armIfWanted(by profiles: Set<BluetoothUUID>) {
    guard !isTemporary, autoConnect == nil, !isAutoConnectParked, !profiles.isDisjoint(with: uuids) else { return }
    autoConnect = target
  }

  /// `Connect()` restores an entry that `Disconnect()` parked.
  mutating func rearmParked() {
    guard isAutoConnectParked else { return }
    isAutoConnectParked = false
    autoConnect = target
  }

  /// `Disconnect()` parks the entry of a device that is not trusted.
  var isToBeParked: Bool { !isTrusted && autoConnect != nil }
}

/// The kernel's list of devices to connect to whenever they are heard. Devices get onto the list by a GattProfile1
/// whose UUIDs they have, never by a bond alone or by `Connect()`.
extension BlueZModel {
  /// A profile was registered, so bluetoothd checks every device it knows.
  mutating func armAll(for uuids: Set<BluetoothUUID>) {
    for path in devices.keys.sorted() {
      devices[path]?.arm(for: uuids)
    }
    refreshInitiator()
  }

  /// A device's services became known, or it stopped being temporary, so registered profiles may want it.
  mutating func armIfWanted(_ path: ObjectPath) {
    devices[path]?.armIfWanted(by: server.profileUUIDs)
  }

  /// Takes a device's entry off the list, with what the kernel remembers about it.
  mutating func disarm(_ path: ObjectPath) {
    guard let device = devices[path] else { return }
    if let entry = device.autoConnect { kernel.lingering.remove(entry) }
    devices[path]?.autoConnect = nil
    kernel.reached.remove(device.address)
  }

  /// Tells the controller which devices to look for: armed devices and those of pending `Connect()` and `ConnectDevice()`
  /// calls, except connected ones.
  mutating func refreshInitiator() {
    guard isRunning, controllerWorks(), adapter.isPowered else { return }
    var targets = kernel.lingering.union(addressTargets)
    for device in devices.values where device.link == nil {
      if let entry = device.autoConnect, !device.isBlocked { targets.insert(entry) }
      let isPairing = device.pairCall != nil && !waitingPairs.contains(device.path)
      let isAskedFor = device.pendingConnect != nil || isPairing
      if isAskedFor, device.pendingConnect?.isRefused != true { targets.insert(device.target) }
    }
    tellInitiator(targets.isEmpty ? nil : initiatorParameters(targets))
  }

  func initiatorParameters(_ targets: Set<InitiatorTarget>) -> InitiatorParameters {
    InitiatorParameters(targets: targets, ownAddress: ownAddress, connectionInterval: configuration.connectionInterval)
  }
}
