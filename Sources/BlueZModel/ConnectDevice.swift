import BlueZ
import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// Calls of `Adapter1.ConnectDevice` that wait for a link, by the peer's address. bluetoothd has the kernel connect to an
/// address, whether it knows a device there or not (src/adapter.c, connect_device; read, and not seen on bluetoothd).
struct AddressConnections: Sendable {
  private struct Waiting {
    let caller: PendingCall
    let deadline: Instant
  }

  private var waiting: [DeviceAddress: Waiting] = [:]

  /// bluetoothd has no such limit.
  private static let limit = 64

  var addresses: [DeviceAddress] { waiting.keys.sorted() }

  /// Returns whether the call waits now. The kernel refuses a second connection to an address.
  mutating func wait(_ caller: PendingCall, for address: DeviceAddress, until deadline: Instant) -> Bool {
    guard waiting[address] == nil, waiting.count < Self.limit else { return false }
    waiting[address] = Waiting(caller: caller, deadline: deadline)
    return true
  }

  mutating func take(_ address: DeviceAddress) -> PendingCall? { waiting.removeValue(forKey: address)?.caller }

  func add(to deadlines: inout Deadlines) {
    for (address, call) in waiting.sorted(by: { $0.key < $1.key }) {
      deadlines.add(call.deadline, .addressConnection(address))
    }
  }
}

/// What Adapter1 and Device1 can do with `--experimental`.
extension BlueZModel {
  /// The members of the argument of `ConnectDevice`.
  private enum ConnectTarget {
    case invalid
    /// An address of classic Bluetooth, for which this adapter is not.
    case classic
    case device(DeviceAddress)

    init(_ members: Properties) {
      self = .invalid
      guard members.keys.allSatisfy({ ["Address", "AddressType"].contains($0) }) else { return }
      let type = members["AddressType"]?.stringValue
      let kind = type.flatMap { DeviceAddress.Kind(rawValue: $0) }
      guard members["AddressType"] == nil || kind != nil,
        let text = members["Address"]?.stringValue,
        let address = DeviceAddress(text, kind: kind ?? .public), address.bits != 0
      else { return }
      self = kind == nil ? .classic : .device(address)
    }
  }

  mutating func connectDevice(_ members: Properties, _ pending: PendingCall) {
    guard adapter.isPowered else { return reply(to: pending, .failure(.notReady)) }
    let target = ConnectTarget(members)
    if case .invalid = target {
      return reply(to: pending, .failure(.invalidArguments("Invalid arguments in method call")))
    }
    // The kernel has one channel of the attribute protocol to an address.
    guard case .device(let address) = target, !isConnecting(to: address),
      addressConnections.wait(pending, for: address, until: now + configuration.timings.connect)
    else { return reply(to: pending, .failure(.failed("Connect failed"))) }
    refreshInitiator()
  }

  private func isConnecting(to address: DeviceAddress) -> Bool {
    guard let path = device(onAir: address), let device = devices[path] else { return false }
    return device.link != nil || device.pendingConnect != nil
  }

  /// What the kernel looks for on behalf of these calls.
  var addressTargets: [InitiatorTarget] {
    addressConnections.addresses.compactMap { address in
      guard let path = device(onAir: address), let device = devices[path] else { return .address(address) }
      return device.link == nil ? device.target : nil
    }
  }

  /// The attribute protocol works on a link, so a call that waited for the device is answered, with its path.
  mutating func addressConnected(_ path: ObjectPath) {
    guard let device = devices[path], let call = addressConnections.take(device.address) else { return }
    reply(to: call, .success(.path(path)))
    devices[path]?.isTemporary = false
    armIfWanted(path)
  }

  /// bluetoothd gives this error a name of its own, and no text.
  mutating func failAddressConnection(_ address: DeviceAddress) {
    guard let call = addressConnections.take(address) else { return }
    reply(to: call, .failure(BlueZError(name: "org.bluez.Failed", message: "")))
    refreshInitiator()
  }

  mutating func failAddressConnections() {
    for address in addressConnections.addresses { failAddressConnection(address) }
  }

  /// The records are those of classic Bluetooth, so a device of Low Energy never has any (src/device.c,
  /// get_service_records).
  func serviceRecords(of path: ObjectPath) -> BlueZError {
    adapter.isPowered && devices[path]?.link == nil ? .notConnected : .notReady
  }
}
