import BluetoothTypes

/// A manager may hold thousands of peripherals. They cross the link in several messages, so that none of them is large.
package enum SnapshotParts {
  /// The most peripherals of one message.
  package static let peripheralLimit = 512
  /// The most attributes of the peripherals of one message, unless a single peripheral has more.
  package static let attributeLimit = 4096
}

extension [PeripheralSnapshot] {
  /// The peripherals in order, each message's by itself. There is always a last part, which may be empty.
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
  /// Services, characteristics, descriptors, and the included services.
  package var attributeCount: Int {
    reduce(0) { sum, service in
      sum + 1 + (service.includedServices?.count ?? 0)
        + (service.characteristics ?? []).reduce(0) { $0 + 1 + ($1.descriptors?.count ?? 0) }
    }
  }
}

extension ManagerView {
  /// The view without most of its peripherals, and these in parts. Each part comes with the options of its requests.
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
