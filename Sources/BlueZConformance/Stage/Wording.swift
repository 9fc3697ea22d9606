import BlueZ
import BusValue

/// How values are written in transcripts. Nothing in them depends on a machine's addresses or on chance.
struct Wording: Sendable {
  /// Names of UUIDs, in BlueZ's lower case.
  static let uuidNames: [String: String] = [
    ConformanceService.service: "door", ConformanceService.offer: "offer", ConformanceService.command: "command",
    ConformanceService.remark: "remark", ConformanceService.secret: "secret", ConformanceService.status: "status",
    ConformanceService.second: "second",
    ConformanceService.extra: "extra",
    ConformanceService.uuid(0xd000): "levels", ConformanceService.uuid(0xd001): "encryptRead",
    ConformanceService.uuid(0xd002): "authenticatedRead", ConformanceService.uuid(0xd003): "secureRead",
    ConformanceService.uuid(0xd004): "encryptWrite", ConformanceService.uuid(0xd005): "authenticatedWrite",
    ConformanceService.uuid(0xd006): "secureWrite", ConformanceService.uuid(0xd007): "authorized",
    ConformanceService.uuid(0xd008): "reliable", "00002900-0000-1000-8000-00805f9b34fb": "extendedProperties",
    "0000180f-0000-1000-8000-00805f9b34fb": "battery", "00002a19-0000-1000-8000-00805f9b34fb": "batteryLevel",
    "00001800-0000-1000-8000-00805f9b34fb": "GenericAccess", "00001801-0000-1000-8000-00805f9b34fb": "GenericAttribute",
    "0000180a-0000-1000-8000-00805f9b34fb": "DeviceInformation",
    "0000110c-0000-1000-8000-00805f9b34fb": "RemoteControlTarget",
    "0000110e-0000-1000-8000-00805f9b34fb": "RemoteControl", "0000112d-0000-1000-8000-00805f9b34fb": "SIMAccess",
    "00001200-0000-1000-8000-00805f9b34fb": "PnPInformation", "00002902-0000-1000-8000-00805f9b34fb": "ccc",
    "00002a05-0000-1000-8000-00805f9b34fb": "ServiceChanged", "00002b29-0000-1000-8000-00805f9b34fb": "ClientFeatures",
    "00002b2a-0000-1000-8000-00805f9b34fb": "DatabaseHash", "00002b3a-0000-1000-8000-00805f9b34fb": "ServerFeatures",
    "00002a50-0000-1000-8000-00805f9b34fb": "PnP",
  ]

  static func uuid(_ text: String) -> String { uuidNames[text.lowercased()] ?? text.lowercased() }

  /// Identity addresses by machine.
  var addresses: [String: String] = [:]
  /// Adapters' names by machine.
  var aliases: [String: String] = [:]

  func text(_ value: Value, named path: (ObjectPath) -> String) -> String {
    switch value {
    case .byte(let value): "\(value)"
    case .bool(let value): "\(value)"
    case .int16(let value): "\(value)"
    case .uint16(let value): "\(value)"
    case .int32(let value): "\(value)"
    case .uint32(let value): "\(value)"
    case .int64(let value): "\(value)"
    case .uint64(let value): "\(value)"
    case .double(let value): "\(value)"
    case .string(let value): string(value)
    case .path(let value): path(value)
    case .signature(let value): value
    case .bytes(let value): Self.bytes(value)
    case .array(_, let elements): "[" + elements.map { text($0, named: path) }.joined(separator: " ") + "]"
    case .dictionary(_, _, let members):
      "{"
        + members.map { (text($0.key, named: path), text($0.value, named: path)) }.sorted { $0 < $1 }
        .map { "\($0.0)=\($0.1)" }.joined(separator: " ") + "}"
    case .structure(let members): "(" + members.map { text($0, named: path) }.joined(separator: " ") + ")"
    case .variant(let inner): text(inner, named: path)
    case .fileDescriptor: "<descriptor>"
    }
  }

  func string(_ text: String) -> String {
    if let known = Self.uuidNames[text.lowercased()] { return known }
    for (machine, address) in addresses where text.caseInsensitiveCompares(address) { return "<address of \(machine)>" }
    for (machine, address) in addresses
    where text.caseInsensitiveCompares(String(address.map { $0 == ":" ? "-" : $0 })) {
      return "<address of \(machine)>"
    }
    if Self.isAddress(text) { return "<another address>" }
    // When it was first seen, the adapter may still have had another name.
    for (machine, alias) in aliases {
      for name in [alias, machine] where text.hasPrefix(name) {
        let rest = text.dropFirst(name.count)
        if rest.isEmpty || rest.hasPrefix(" #") { return "<name of \(machine)>\(rest)" }
      }
    }
    return text
  }

  private static func isAddress(_ text: String) -> Bool {
    let parts = text.split(omittingEmptySubsequences: false) { $0 == ":" || $0 == "-" }
    return parts.count == 6 && parts.allSatisfy { $0.count == 2 && UInt8($0, radix: 16) != nil }
  }

  static func bytes(_ bytes: [UInt8]) -> String {
    if bytes.count > 24 { return "<\(bytes.count) bytes>" }
    if !bytes.isEmpty, bytes.allSatisfy({ (0x20..<0x7F).contains($0) }) {
      return "'" + String(decoding: bytes, as: UTF8.self) + "'"
    }
    return "<" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + ">"
  }

  /// Sorts lines that have no fixed order: objects that come and go together, and the adapter's properties, which
  /// bluetoothd reports when the kernel has reported them. The latter come last, each in its own order; for UUIDs
  /// only the last counts.
  static func ordered(_ lines: [String]) -> [String] {
    // The adapter gets the host's name some time after it appears.
    let objects = ["adapter", "adapter#2"]
    let names = objects.flatMap { ["\($0) Name = <", "\($0) Alias = <"] }
    func isAdapters(_ line: String) -> Bool {
      objects.contains { line.hasPrefix("\($0) ") } && line.contains(" = ")
    }
    let adapters = lines.filter { line in isAdapters(line) && !names.contains(where: line.hasPrefix) }
    func property(_ line: String) -> String { line.split(separator: " ").prefix(2).joined(separator: " ") }
    let last = Set(adapters.map(property)).sorted().flatMap { name in
      let told = adapters.filter { property($0) == name }
      return name.hasSuffix(" UUIDs") ? told.suffix(1) : told[...]
    }
    var result: [String] = []
    var run: [String] = []
    func mark(_ line: String) -> Character? { line.first.flatMap { $0 == "+" || $0 == "-" ? $0 : nil } }
    // It is chance whether the adapter already has the host's name when it appears.
    let beginnings = objects.flatMap { ["+ \($0) Adapter1 Name=", "+ \($0) Adapter1 Alias="] }
    let begun = lines.map { line in beginnings.first(where: line.hasPrefix).map { "\($0)<a name>" } ?? line }
    for line in begun where !isAdapters(line) {
      if let last = run.last, mark(last) != mark(line) {
        result += run.sorted()
        run = []
      }
      if mark(line) != nil { run.append(line) } else { result.append(line) }
    }
    return signalsGoneInOrder(result + run.sorted()) + last
  }

  /// When a discovery ends, its devices lose their signal strengths. Those signals and the answer to StopDiscovery come one after the
  /// other, and meanwhile the client may already make its next call. Here they come directly after the answer.
  private static func signalsGoneInOrder(_ lines: [String]) -> [String] {
    var result = lines
    for (start, line) in lines.enumerated() where line.hasSuffix(".StopDiscovery()") && line.hasPrefix("> ") {
      let answer = "< \(line.dropFirst(2)): ok"
      guard let begin = result[start...].firstIndex(of: line),
        let answered = result[begin...].firstIndex(of: answer)
      else { continue }
      let end = result[(answered + 1)...].firstIndex { $0.hasPrefix("< ") } ?? result.endIndex
      let window = result[begin..<end]
      func isGone(_ line: String) -> Bool { line.hasSuffix(" RSSI is gone") }
      let gone = window.filter(isGone).sorted()
      let (before, after) = (result[begin..<answered], result[(answered + 1)..<end])
      result.replaceSubrange(
        begin..<end, with: before.filter { !isGone($0) } + [answer] + gone + after.filter { !isGone($0) })
    }
    return result
  }

  /// How long something took, in steps as coarse as emulated machines are slow, or nothing if it was quick. A case
  /// that needs more precision measures it itself. A slow error is a time limit; a slow success is a slow machine.
  static func time(_ duration: Duration, isSuccess: Bool) -> String {
    switch duration {
    case ..<Duration.seconds(isSuccess ? 34 : 15): ""
    case ..<Duration.seconds(34): " after 15 to 34 s"
    case ..<Duration.seconds(60): " after 34 to 60 s"
    default: " after more than 60 s"
    }
  }
}

extension String {
  fileprivate func caseInsensitiveCompares(_ other: String) -> Bool { lowercased() == other.lowercased() }
}
