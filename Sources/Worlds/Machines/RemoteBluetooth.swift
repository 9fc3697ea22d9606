import BlueZ
import BusValue
import Foundation
import SystemBus

/// A machine's bluetoothd, seen from outside: connected devices, and the adapter's power.
final class RemoteBluetooth: Sendable {
  private let bus: Bus

  /// Reports each change of `Device1.Connected`, with the device's path, on the bus's thread.
  init(_ address: String, onLink: @escaping @Sendable (_ device: String, _ isConnected: Bool) -> Void) throws {
    bus = try Bus(address: BusAddress(address))
    try bus.start(
      BusHandlers(onSignal: { _, signal in
        guard signal.member == "PropertiesChanged", signal.arguments.count == 3,
          signal.arguments[0].stringValue == Device1.interface,
          let changed = signal.arguments[1].propertiesValue,
          let isConnected = PropertyValues<Device1>(changed).connected
        else { return }
        onLink(signal.path.text, isConnected)
      }))
    let added = DispatchSemaphore(value: 0)
    bus.enqueue { bus in
      bus.addMatch(MatchRule(sender: WellKnown.busName, interface: BusName.properties, member: "PropertiesChanged")) {
        _ in
        added.signal()
      }
    }
    guard added.wait(timeout: .now() + .seconds(60)) == .success else {
      throw WorldError("the machine's bus does not answer")
    }
  }

  deinit { bus.close() }

  /// Sets `Adapter1.Powered` of the machine's first adapter.
  static func setPowered(_ isOn: Bool, at address: String) throws {
    try withObjects(at: address) { bus, objects in
      guard let path = objects.filter({ $0.interfaces[Adapter1.interface] != nil }).map(\.path).min() else {
        throw WorldError("bluetoothd has no adapter")
      }
      _ = try bus.callAndWait(
        MethodCall(
          to: WellKnown.busName, path: path, interface: BusName.properties, member: "Set",
          arguments: [.string(Adapter1.interface), .string(Adapter1.name(\.powered)), .variant(.bool(isOn))]))
    }
  }

  /// Removes every device that the machine is bonded with.
  static func forgetPairings(at address: String) throws {
    try withObjects(at: address) { bus, objects in
      for object in objects {
        guard let properties = object.interfaces[Device1.interface] else { continue }
        let device = PropertyValues<Device1>(properties)
        guard device.bonded ?? device.paired == true, let adapter = device.adapter else { continue }
        _ = try bus.callAndWait(
          MethodCall(
            to: WellKnown.busName, path: adapter, interface: Adapter1.interface, member: "RemoveDevice",
            arguments: [.path(object.path)]))
      }
    }
  }

  private struct Object {
    let path: ObjectPath
    let interfaces: [String: Properties]
  }

  private static func withObjects(at address: String, _ body: (Bus, [Object]) throws -> Void) throws {
    let bus = try Bus(address: BusAddress(address))
    try bus.start()
    defer { bus.closeAndWait() }
    let reply = try bus.callAndWait(
      MethodCall(
        to: WellKnown.busName, path: ObjectPath(unchecked: "/"), interface: "org.freedesktop.DBus.ObjectManager",
        member: "GetManagedObjects"))
    guard case .dictionary(_, _, let objects)? = reply.first else { throw WorldError("bluetoothd has no objects") }
    try body(
      bus,
      objects.compactMap { path, interfaces in
        guard let path = path.pathValue, case .dictionary(_, _, let entries) = interfaces else { return nil }
        let pairs = entries.compactMap { name, properties in
          name.stringValue.flatMap { name in properties.propertiesValue.map { (name, $0) } }
        }
        return Object(path: path, interfaces: Dictionary(pairs) { first, _ in first })
      })
  }
}
