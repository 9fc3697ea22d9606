import AppLink
import BusValue
import SystemBus

/// Where the system is on the bus.
package enum AppLinkName {
  /// The system's name on the bus.
  package static let busName = "org.latchkey.System1"
  /// Its only object.
  package static let path = ObjectPath(unchecked: "/org/latchkey/System1")
  /// The interface for apps.
  package static let appInterface = "org.latchkey.System1"
  /// The interface for the user's command.
  package static let controlInterface = "org.latchkey.Control1"
}

/// What the system's object serves, as introspection describes it.
enum AppLinkInterfaces {
  static let app = InterfaceDescription(
    AppLinkName.appInterface,
    methods: ([AttachCoding.shape] + RequestCoding.shapes + QueryCoding.shapes).map(\.method),
    signals: EventCoding.shapes.map(\.signal))

  static let control = InterfaceDescription(
    AppLinkName.controlInterface, methods: ControlCoding.shapes.map(\.method),
    signals: [ControlCoding.statusChanged.shape.signal])

  static var document: String {
    Introspection.document(interfaces: [.introspectable, app, control])
  }
}

extension BusError {
  private static let prefix = "org.latchkey.Error."

  /// `org.latchkey.Error.InvalidArguments` and the like: the code with a capital letter.
  init(_ error: AppLinkError) {
    let code = error.code.rawValue
    self.init(name: Self.prefix + code.prefix(1).uppercased() + code.dropFirst(), message: error.message)
  }
}

extension AppLinkError {
  /// The system's own errors keep their code. Any other error means that the system can't be reached.
  init(_ error: BusError) {
    let prefix = "org.latchkey.Error."
    if error.name.hasPrefix(prefix) {
      let name = error.name.dropFirst(prefix.count)
      if let code = Code(rawValue: name.prefix(1).lowercased() + name.dropFirst()) {
        self.init(code, error.message)
        return
      }
    }
    switch error.name {
    case BusError.Name.serviceUnknown, BusError.Name.nameHasNoOwner:
      self.init(
        .unavailable,
        "latchkeyd is not there (nobody owns \(AppLinkName.busName) on the bus); start it with `systemctl start latchkeyd`, "
          + "or see with `latchkey doctor` what is wrong")
    case BusError.Name.noReply:
      self.init(
        .unavailable, "latchkeyd has not answered in time; see with `journalctl -u latchkeyd` what it is doing")
    case BusError.Name.disconnected:
      self.init(.unavailable, "latchkeyd is not there any more: the connection to its bus has ended")
    case BusError.Name.noServer: self.init(.unavailable, error.message)
    default: self.init(.unavailable, error.description)
    }
  }
}
