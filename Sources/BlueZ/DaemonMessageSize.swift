import BusValue

extension DaemonMessage {
  /// Roughly the memory that it takes, in bytes, as `Value.byteCount` counts.
  package var byteCount: Int {
    switch self {
    case .appeared(let objects): objects.byteCount
    case .vanished: 0
    case .reply(_, .success(let reply)): reply.byteCount
    case .reply(_, .failure(let error)): error.name.utf8.count + error.message.utf8.count
    case .signal(let signal): signal.byteCount
    case .callback(_, let path, .writeValue(let value, _)): path.text.utf8.count + value.count
    case .callback(_, let path, _): path.text.utf8.count
    }
  }
}

extension Reply {
  fileprivate var byteCount: Int {
    switch self {
    case .none, .rssi, .channel, .creditChannel, .psm: 0
    case .bytes(let bytes): bytes.count
    case .value(let value): value.byteCount
    case .properties(let properties): properties.byteCount
    case .objects(let objects): objects.byteCount
    case .strings(let texts): texts.byteCount
    case .path(let path): path.text.utf8.count
    }
  }
}

extension Signal {
  fileprivate var byteCount: Int {
    switch self {
    case .interfacesAdded(let path, let interfaces): path.text.utf8.count + interfaces.byteCount
    case .interfacesRemoved(let path, let names): path.text.utf8.count + names.byteCount
    case .propertiesChanged(let path, let interface, let changed, let invalidated):
      path.text.utf8.count + interface.utf8.count + changed.byteCount + invalidated.byteCount
    case .disconnected(let path, let reason, let message):
      path.text.utf8.count + reason.utf8.count + message.utf8.count
    }
  }
}

extension [String] {
  fileprivate var byteCount: Int { reduce(0) { $0 + text($1).byteCount } }
}

extension Properties {
  fileprivate var byteCount: Int { reduce(0) { $0 + text($1.key).byteCount + $1.value.byteCount } }
}

extension Interfaces {
  fileprivate var byteCount: Int { reduce(0) { $0 + text($1.key).byteCount + $1.value.byteCount } }
}

extension ManagedObjects {
  fileprivate var byteCount: Int { reduce(0) { $0 + text($1.key.text).byteCount + $1.value.byteCount } }
}

/// In a dictionary's extension, `Value` means the dictionary's own value type.
private func text(_ text: String) -> Value { .string(text) }
