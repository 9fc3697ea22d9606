import AppLinkBus
import BusValue
import Foundation
import SystemBus

/// systemd and latchkeyd, as root reaches them on the bus.
final class Units: @unchecked Sendable {
  // The properties' changes are guarded by the condition.
  private let condition = NSCondition()
  private var changes = 0
  private let bus: Bus
  private static let name = "org.freedesktop.systemd1"
  private static let path = ObjectPath(unchecked: "/org/freedesktop/systemd1")

  init() throws {
    bus = try Bus()
    try bus.start(BusHandlers(onSignal: { [weak self] _, _ in self?.changed() }))
    try call("Subscribe")
    let added = DispatchSemaphore(value: 0)
    bus.enqueue { bus in
      bus.addMatch(MatchRule(sender: Self.name, interface: BusName.properties, member: "PropertiesChanged")) { _ in
        added.signal()
      }
    }
    added.wait()
  }

  private func changed() {
    condition.lock()
    changes += 1
    condition.broadcast()
    condition.unlock()
  }

  @discardableResult
  func call(_ member: String, _ arguments: [Value] = []) throws -> [Value] {
    try bus.callAndWait(
      MethodCall(
        to: Self.name, path: Self.path, interface: "org.freedesktop.systemd1.Manager", member: member,
        arguments: arguments))
  }

  /// What the bus does for a caller of a name without an owner.
  func activate(_ name: String) throws {
    _ = try bus.callAndWait(
      MethodCall(
        to: BusName.bus, path: ObjectPath(unchecked: "/org/freedesktop/DBus"), interface: BusName.bus,
        member: "StartServiceByName", arguments: [.string(name), .uint32(0)]))
  }

  /// What the user's command sends to latchkeyd.
  @discardableResult
  func control(_ member: String, _ arguments: [Value] = []) throws -> [Value] {
    try bus.callAndWait(
      MethodCall(
        to: "org.latchkey.System1", path: ObjectPath(unchecked: "/org/latchkey/System1"),
        interface: "org.latchkey.Control1", member: member, arguments: arguments))
  }

  /// Whether latchkeyd considers an app to be running.
  func isRunning(_ app: String) throws -> Bool {
    let status = try ControlClient.status(try control("GetStatus"))
    guard let found = status.apps.first(where: { $0.bundleIdentifier == app }) else {
      throw TrialError("latchkeyd does not know \(app)")
    }
    return found.processIdentifier != nil
  }

  func property(_ unit: String, _ name: String, of interface: String = "Unit") throws -> Value {
    guard let path = try call("LoadUnit", [.string(unit)]).first?.pathValue else { throw TrialError("no \(unit)") }
    let reply = try bus.callAndWait(
      MethodCall(
        to: Self.name, path: path, interface: BusName.properties, member: "Get",
        arguments: [.string("org.freedesktop.systemd1." + interface), .string(name)]))
    guard let value = reply.first?.unwrapped else { throw TrialError("\(unit) has no \(name)") }
    return value
  }

  func state(_ unit: String) throws -> String { try property(unit, "ActiveState").stringValue ?? "" }
  /// A unit's main process, which it must have.
  func process(_ unit: String) throws -> Int32 {
    let process = Int32(try property(unit, "MainPID", of: "Service").integerValue ?? 0)
    guard process > 0 else { throw TrialError("\(unit) has no process") }
    return process
  }

  /// Waits until a property has the wanted value.
  @discardableResult
  func wait(
    _ unit: String, _ name: String, of interface: String = "Unit", within seconds: Double = 120,
    until fits: (Value) -> Bool
  ) throws -> Value {
    let limit = Date(timeIntervalSinceNow: seconds)
    while true {
      condition.lock()
      let before = changes
      condition.unlock()
      let value = try property(unit, name, of: interface)
      if fits(value) { return value }
      // Checked even if changes never cease: asking about a unit that systemd forgets at once causes one.
      let isOver = TrialError("\(name) of \(unit) is still \(value) after \(seconds) s")
      guard Date() < limit else { throw isOver }
      condition.lock()
      defer { condition.unlock() }
      while changes == before { guard condition.wait(until: limit) else { throw isOver } }
    }
  }
}
