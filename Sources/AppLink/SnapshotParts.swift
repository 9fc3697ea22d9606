import BluetoothTypes

/// Limits for lists of peripherals. A manager may hold thousands of them, and they are sent in several messages, so
/// that no message is large.
package enum SnapshotParts {
  /// The most peripherals of one message.
  package static let peripheralLimit = 512
  /// The most attributes of the peripherals of one message, unless a single peripheral has more.
  package static let attributeLimit = 4096
}

extension [PeripheralSnapshot] {
  /// The peripherals in order, divided into one part for each message. There is always a last part, which may be empty.
  package var inParts: [[PeripheralSnapshot]] {
    var parts: [[PeripheralSnapshot]] = []
    var part: [PeripheralSnapshot] = []
    var attributes = 0
    for snapshot in self {
      let count = snapshot.services?.attributeCount ?? 0
      let isFull = part.count >= SnapshotParts.peripheralLimit || attributes + count > SnapshotParts.attributeLimit
      if isFull, !part.isEmpty {
        parts.append(part)
        (part, attributes) = ([], 0)
      }
      part.append(snapshot)
      attributes += count
    }
    return parts + [part]
  }
}

extension [ServiceSnapshot] {
  /// The number of services, characteristics, descriptors and references to included services.
  package var attributeCount: Int {
    reduce(0) { sum, service in
      sum + 1 + (service.includedServices?.count ?? 0)
        + (service.characteristics ?? []).reduce(0) { $0 + 1 + ($1.descriptors?.count ?? 0) }
    }
  }
}

extension ManagerView {
  /// The view divided for sending: parts of its peripherals, each with the options of their requests, and the rest of
  /// the view with the last peripherals.
  package var inParts:
    (
      parts: [(peripherals: [PeripheralSnapshot], options: [PeerIdentifier: ConnectOptions])], rest: ManagerView
    )
  {
    var all = peripherals.inParts
    var rest = self
    rest.peripherals = all.removeLast()
    guard !all.isEmpty else { return ([], self) }
    func options(of part: [PeripheralSnapshot]) -> [PeerIdentifier: ConnectOptions] {
      part.reduce(into: [:]) { $0[$1.identifier] = connectOptions[$1.identifier] }
    }
    rest.connectOptions = options(of: rest.peripherals)
    return (all.map { ($0, options(of: $0)) }, rest)
  }
}
