import BlueZ
import BusValue

/// The introspection data of bluetoothd's objects: interfaces, methods and properties, including properties that an
/// object lacks at the moment.
enum InterfaceCases {
  static let all = [introspection, profiles]

  /// Profiles of classic Bluetooth: their registration alone.
  static let profiles = ConformanceCase("profiles of classic Bluetooth") { stage in
    let (phone, path) = (stage.phone.main, ObjectPath(unchecked: "/conformance/classic"))
    func register(_ uuid: String) -> OngoingCall {
      phone.call(
        "manager", InterfaceName.profileManager, "RegisterProfile", [.path(path), .string(uuid), .properties([:])])
    }
    func unregister() -> OngoingCall {
      phone.call("manager", InterfaceName.profileManager, "UnregisterProfile", [.path(path)])
    }
    phone.export([path: ["org.bluez.Profile1": [:]]], at: path)
    try await stage.step("of none and of many kinds") {
      try await stage.expectError(unregister(), "org.bluez.Error.DoesNotExist")
      for uuid in ["door", "xyz", "", "c0f0a000-3c0c-4d6a-9a42-1c6f3d8e7b10", "0xabc0", "abc0 and more"] {
        let outcome = try await stage.outcome(register(uuid))
        if outcome.isSuccess { try await stage.success(unregister()) }
      }
    }
    try await stage.step("registered twice") {
      try await stage.success(register(ConformanceService.service))
      try await stage.expectError(register(ConformanceService.second), "org.bluez.Error.AlreadyExists")
    }
    try await stage.step("bluetoothd ends") {
      try await stage.restart(stage.phone, killed: false)
    }
  }

  static let introspection = ConformanceCase("introspection") { stage in
    try await stage.openDoor()
    try await stage.discover()
    try await stage.step("connected") {
      try await stage.success(stage.phone.device("Connect"))
      try await stage.need("services") { stage.phone.isResolved }
    }
    for name in ["manager", "adapter", "lock", "lock/door", "lock/door/offer", "lock/door/offer/ccc"] {
      let call = stage.phone.main.call(name, "org.freedesktop.DBus.Introspectable", "Introspect", quietly: true)
      let outcome = try await stage.outcome(call)
      try await stage.step(name) {
        let lines = IntrospectionReader.lines(outcome.values.first?.stringValue ?? "")
        stage.expect(!lines.isEmpty, "\(name) is described")
        stage.recorder.record(lines, in: stage.phone.main.column)
      }
    }
  }
}

/// Introspection data as sorted lines, without what every object of every service has.
enum IntrospectionReader {
  static func lines(_ text: String) -> [String] {
    var interface = ""
    var member = ""
    var members: [String: String] = [:]
    var interfaces: Set<String> = []
    for tag in text.split(separator: "<").map({ $0.prefix { $0 != ">" } }) {
      let attributes = attributes(tag)
      switch tag.prefix(while: { $0 != " " && $0 != "/" }) {
      case "interface":
        interface = attributes["name"] ?? ""
        interfaces.insert(interface)
        member = ""
      case "method", "signal":
        member = "\(interface) \(attributes["name"] ?? "")"
        members[member] = "("
      case "arg": members[member]? += "\(attributes["direction"] == "out" ? "->" : "")\(attributes["type"] ?? "") "
      case "property":
        members["\(interface) \(attributes["name"] ?? "")"] =
          "\(attributes["type"] ?? "") \(attributes["access"] ?? "")"
      default: break
      }
    }
    let known = interfaces.filter { $0.hasPrefix("org.bluez.") }
    return known.sorted().map { "= \($0)" }
      + members.filter { $0.key.hasPrefix("org.bluez.") }.sorted { $0.key < $1.key }.map { name, text in
        "= \(name) \(text.hasPrefix("(") ? text.trimmingSuffix(" ") + ")" : text)"
      }
  }

  private static func attributes(_ tag: Substring) -> [String: String] {
    var result: [String: String] = [:]
    let parts = tag.split(separator: "\"", omittingEmptySubsequences: false)
    for index in stride(from: 0, to: parts.count - 1, by: 2) {
      let name = parts[index].drop { $0 == " " }.split(separator: " ").last?.dropLast() ?? ""
      result[String(name)] = String(parts[index + 1])
    }
    return result
  }
}

extension String {
  fileprivate func trimmingSuffix(_ suffix: String) -> String {
    hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
  }
}
