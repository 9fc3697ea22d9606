import AppLink
import BluetoothSystem
import FoundationEssentials
import JournalEvents

/// A number that is the same for the same sequence of values, in every process and on every machine: FNV-1a over the
/// values' parts. The order of a dictionary's pairs and the names of types and members do not matter.
struct EffectDigest: CustomStringConvertible {
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325
  private(set) var count = 0

  /// Adds a value to the sequence.
  mutating func add(_ effect: Any) {
    count += 1
    feed(Self.text(effect))
  }

  var description: String { "\(count) effects, \(String(value, radix: 16))" }

  private mutating func feed(_ text: String) {
    for byte in text.utf8 { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
    value = (value ^ 0x1F) &* 0x100_0000_01B3
  }

  /// The parts of a value that matter.
  static func text(_ value: Any) -> String {
    if let text = value as? String { return text }
    if let bytes = value as? [UInt8] { return bytes.map { String($0, radix: 16) }.joined(separator: " ") }
    if let identifier = value as? UUID { return identifier.uuidString }
    if let identifier = value as? any UUIDIdentifier { return identifier.uuidString }
    if let code = value as? PeerError.Code { return String(code.rawValue) }
    if let event = value as? any JournalEvent { return event.rawValue }
    if let field = value as? JournalField { return field.rawValue }
    if let reason = value as? WakeReason { return reason.rawValue }
    if let event = value as? AppLink.Event { return text(event) }
    if let status = value as? SystemStatus { return text(RecordedStatus(status)) }
    if let status = value as? AppStatus { return text(RecordedAppStatus(status)) }
    if let record = value as? AppRecord, !record.isDenied { return text(RecordedAppRecord(record)) }
    let mirror = Mirror(reflecting: value)
    switch mirror.displayStyle {
    case .dictionary?, .set?: return "{" + mirror.children.map { text($0.value) }.sorted().joined(separator: ",") + "}"
    case .enum?:
      guard let payload = mirror.children.first else { return String(describing: value) }
      return (payload.label ?? "") + "(" + text(payload.value) + ")"
    default:
      guard !mirror.children.isEmpty else {
        return mirror.displayStyle == .collection || mirror.displayStyle == .optional ? "-" : String(describing: value)
      }
      return "(" + mirror.children.map { text($0.value) }.joined(separator: ",") + ")"
    }
  }

  /// The manager's number comes first in the body, as it did when the effects were recorded.
  private static func text(_ event: AppLink.Event) -> String {
    var body = text(event.body)
    if let manager = event.manager, let payload = Mirror(reflecting: event.body).children.first {
      let parts = Mirror(reflecting: payload.value)
      let rest = parts.displayStyle == .tuple ? parts.children.map { text($0.value) } : [text(payload.value)]
      body = (payload.label ?? "") + "((" + ([text(manager)] + rest).joined(separator: ",") + "))"
    }
    return "(" + text(event.sequence) + "," + body + ")"
  }
}

/// What a status said when the effects were recorded. What it says since then is no decision of the system.
private struct RecordedStatus {
  let bluetooth: ManagerState
  let apps: [AppStatus]
  let pairings: [PairingQuestion]
  let wakes: [WakeRecord]
  let storeTrouble: String?

  init(_ status: SystemStatus) {
    (bluetooth, apps, pairings) = (status.bluetooth, status.apps, status.pairings)
    (wakes, storeTrouble) = (status.wakes, status.storeTrouble)
  }
}

private struct RecordedAppStatus {
  let bundleIdentifier: String
  let state: AppState
  let processIdentifier: Int32?
  let quitByUser: Bool
  let pendingConnections: Int
  let connections: Int
  let launches: Int
  let alert: String?

  init(_ status: AppStatus) {
    (bundleIdentifier, state, processIdentifier) = (status.bundleIdentifier, status.state, status.processIdentifier)
    (quitByUser, pendingConnections) = (status.quitByUser, status.pendingConnections)
    (connections, launches, alert) = (status.connections, status.launches, status.alert)
  }
}

/// What an app's record had when the effects were recorded. That no app was denied then is not repeated.
private struct RecordedAppRecord {
  let bundleIdentifier: String
  let state: AppState
  let process: ProcessIdentity?
  let quitByUser: Bool
  let launches: Int
  let wakes: [WakeRecord]

  init(_ record: AppRecord) {
    (bundleIdentifier, state, process) = (record.bundleIdentifier, record.state, record.process)
    (quitByUser, launches, wakes) = (record.quitByUser, record.launches, record.wakes)
  }
}
