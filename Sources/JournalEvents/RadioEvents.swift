extension Recorded {
  /// Events of those that observe the radio: the simulator, the air between virtual machines, and a bluetoothd.
  package enum Radio: String, JournalEvent {
    case linkUp = "link.up"
    case linkDown = "link.down"
    case walkBegan = "walk.began"
    case walkEnded = "walk.ended"
    case adapterPowered = "adapter.powered"
    case bluetoothdStarted = "bluetoothd.started"
    case bluetoothdStopped = "bluetoothd.stopped"
    case bluetoothdDiagnostic = "bluetoothd.diagnostic"
    case advertisingChanged = "advertising.changed"
    case scanningChanged = "scanning.changed"
    case controllerAttached = "controller.attached"
    case controllerDetached = "controller.detached"
    case controllerAdapter = "controller.adapter"

    package static let processes = [Recorded.simulator, Recorded.air, Recorded.bluetoothd]

    package var fields: Set<JournalField> {
      switch self {
      case .linkUp: [.central, .peripheral, .link, .device]
      case .linkDown: [.central, .peripheral, .link, .reason, .device]
      case .walkBegan, .walkEnded: [.machine, .x, .y]
      case .adapterPowered: [.machine, .on]
      case .bluetoothdStarted: [.machine]
      case .bluetoothdStopped: [.machine, .cause]
      case .bluetoothdDiagnostic: [.machine, .text]
      case .advertisingChanged: [.machine, .set, .on, .name, .services, .interval]
      case .scanningChanged: [.machine, .on]
      case .controllerAttached, .controllerDetached, .controllerAdapter: [.machine]
      }
    }
  }
}
