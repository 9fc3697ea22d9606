import BlueZ
import BusValue

/// The introspection data of bluetoothd's objects: interfaces, methods and properties, including properties that an
/// object lacks at the moment.
enum InterfaceCases {
  static let all = [introspection]

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
