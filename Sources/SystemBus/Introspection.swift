import BusValue

/// An interface as introspection describes it (D-Bus specification, "Introspection Data Format").
package struct InterfaceDescription: Sendable, Hashable {
  package struct Argument: Sendable, Hashable {
    package var name: String
    package var signature: String
    package init(_ name: String, _ signature: String) {
      self.name = name
      self.signature = signature
    }
  }

  package struct Method: Sendable, Hashable {
    package var name: String
    package var inputs: [Argument]
    package var outputs: [Argument]
    /// The caller gets no reply.
    package var noReply: Bool
    package init(_ name: String, _ inputs: [Argument] = [], returns outputs: [Argument] = [], noReply: Bool = false) {
      self.name = name
      self.inputs = inputs
      self.outputs = outputs
      self.noReply = noReply
    }
    /// The inputs' signatures, joined.
    package var signature: String { inputs.map(\.signature).joined() }
  }

  package struct Signal: Sendable, Hashable {
    package var name: String
    package var arguments: [Argument]
    package init(_ name: String, _ arguments: [Argument]) {
      self.name = name
      self.arguments = arguments
    }
    package var signature: String { arguments.map(\.signature).joined() }
  }

  package struct Property: Sendable, Hashable {
    package var name: String
    package var signature: String
    package var isWritable: Bool
    package init(_ name: String, _ signature: String, isWritable: Bool = false) {
      self.name = name
      self.signature = signature
      self.isWritable = isWritable
    }
  }

  package var name: String
  package var methods: [Method]
  package var signals: [Signal]
  package var properties: [Property]

  package init(_ name: String, methods: [Method] = [], signals: [Signal] = [], properties: [Property] = []) {
    self.name = name
    self.methods = methods
    self.signals = signals
    self.properties = properties
  }

  package static let introspectable = InterfaceDescription(
    BusName.introspectable, methods: [Method("Introspect", returns: [Argument("data", "s")])])

  package static let properties = InterfaceDescription(
    BusName.properties,
    methods: [
      Method("Get", [Argument("interface", "s"), Argument("name", "s")], returns: [Argument("value", "v")]),
      Method("Set", [Argument("interface", "s"), Argument("name", "s"), Argument("value", "v")]),
      Method("GetAll", [Argument("interface", "s")], returns: [Argument("properties", "a{sv}")]),
    ],
    signals: [
      Signal(
        "PropertiesChanged",
        [
          Argument("interface", "s"), Argument("changed_properties", "a{sv}"),
          Argument("invalidated_properties", "as"),
        ])
    ])

  package static let objectManager = InterfaceDescription(
    BusName.objectManager,
    methods: [Method("GetManagedObjects", returns: [Argument("objects", "a{oa{sa{sv}}}")])],
    signals: [
      Signal("InterfacesAdded", [Argument("object", "o"), Argument("interfaces", "a{sa{sv}}")]),
      Signal("InterfacesRemoved", [Argument("object", "o"), Argument("interfaces", "as")]),
    ])
}

/// Writes introspection documents.
package enum Introspection {
  /// The document for one object: its interfaces and the names of the objects directly below it.
  package static func document(interfaces: [InterfaceDescription], children: [String] = []) -> String {
    var lines = [
      "<!DOCTYPE node PUBLIC \"-//freedesktop//DTD D-BUS Object Introspection 1.0//EN\"",
      " \"http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd\">",
      "<node>",
    ]
    for interface in interfaces { lines += Self.lines(of: interface) }
    for child in children { lines.append("  <node name=\"\(child)\"/>") }
    lines.append("</node>")
    return lines.joined(separator: "\n") + "\n"
  }

  /// The names of the objects directly below `path`, given all `paths`.
  package static func children(of path: ObjectPath, among paths: some Sequence<ObjectPath>) -> [String] {
    let depth = path.text.split(separator: "/").count
    return Set(
      paths.filter { $0 != path && $0.isWithin(path) }.map { String($0.text.split(separator: "/")[depth]) }
    ).sorted()
  }

  private static func lines(of interface: InterfaceDescription) -> [String] {
    var lines = ["  <interface name=\"\(interface.name)\">"]
    for method in interface.methods {
      let inputs = method.inputs.map { argument($0, direction: "in") }
      let outputs = method.outputs.map { argument($0, direction: "out") }
      let notes =
        method.noReply
        ? ["      <annotation name=\"org.freedesktop.DBus.Method.NoReply\" value=\"true\"/>"] : []
      lines += element("method", method.name, inputs + outputs + notes)
    }
    for signal in interface.signals {
      lines += element("signal", signal.name, signal.arguments.map { argument($0, direction: nil) })
    }
    for property in interface.properties {
      let access = property.isWritable ? "readwrite" : "read"
      lines.append(
        "    <property name=\"\(property.name)\" type=\"\(property.signature)\" access=\"\(access)\"/>")
    }
    return lines + ["  </interface>"]
  }

  private static func element(_ kind: String, _ name: String, _ contents: [String]) -> [String] {
    contents.isEmpty
      ? ["    <\(kind) name=\"\(name)\"/>"] : ["    <\(kind) name=\"\(name)\">"] + contents + ["    </\(kind)>"]
  }

  private static func argument(_ argument: InterfaceDescription.Argument, direction: String?) -> String {
    let direction = direction.map { " direction=\"\($0)\"" } ?? ""
    return "      <arg name=\"\(argument.name)\" type=\"\(argument.signature)\"\(direction)/>"
  }
}
