import AppLink
import BlueZ
import BlueZModel
import BluetoothSystem
import BluetoothTypes
import BusValue
import FoundationEssentials
import Radio
import TimeTypes

/// Reads any value member by member, as one line of tokens that is the same for values that differ only in names: in the
/// numbers of processes, links, calls and so on. Those keep their order, because it may matter which is older. What
/// only people read (counts, journals) and random numbers to come are left out.
struct StateReader: Sendable {
  enum Token: Sendable {
    case word(UInt64)
    /// A name, by the machine on which it names something, its kind and its number.
    case name(scope: Int, kind: Int, number: Int64)
    case begin(isOrdered: Bool)
    case end
  }

  private(set) var tokens: [Token] = []
  /// The machine that is read.
  private var scope = 0
  private var shapes: [ObjectIdentifier: Shape] = [:]

  /// How a member is read.
  private enum Reading: Sendable {
    case plainly, notAtAll
    /// A number of an event that is a plain integer.
    case asSequence
    /// A time that does not matter once it is over.
    case asDeadline
  }

  /// How the values of a type are read.
  private enum Shape: Sendable {
    case word(@Sendable (Any) -> UInt64)
    case text(@Sendable (Any) -> String)
    case bytes
    case name(kind: Int, isScoped: Bool)
    case client, path
    /// Member by member. How each is read, or nothing if all are simply read.
    case members(isOrdered: Bool, [Reading])
    case leftOut
  }

  /// Numbers that only name something. Those of the first kinds are between one machine's system and its apps.
  private static let names: [Any.Type] =
    scopedNames + [
      CallIdentifier.self, CallbackIdentifier.self, ChannelIdentifier.self, LinkIdentifier.self,
      ObjectPath.self, LinkNumber.self,
    ]
  private static let scopedNames: [Any.Type] = [
    EventSequence.self, AppLinkIdentifier.self, AnswerToken.self, ProcessIdentity.self, OperationIdentifier.self,
    ActionIdentifier.self, RemoteRequestIdentifier.self,
  ]
  /// Numbers of events that are plain integers.
  private static let sequences: Set<String> = [
    "AppProcess.lastSequence", "AppProcess.handledSequence", "AppProcess.budgetMark", "ModelApp.lastEvent",
  ]

  /// Times before which something does not happen, or after which something is looked for.
  private static let deadlines: Set<String> = ["notBefore", "wakeNotBefore", "noticedUntil"]

  /// Members that decide nothing: counters of names, random numbers, journals, strengths of signals, results
  /// that are kept to save time, and what is kept twice.
  private static let leftOut: Set<String> = [
    "Street.cast", "Street.sabotage", "Street.turns", "Street.tally", "Street.trace", "Street.seed",
    "Machine.lives", "Machine.lastLink", "Machine.lastProcess", "Machine.launchedBy", "Reference.cast",
    "ModelApp.actor", "ModelApp.lastOperation",
    "BluetoothSystem.random", "BluetoothSystem.unixSeconds", "BluetoothSystem.now", "BluetoothSystem.lastAction",
    "BluetoothSystem.configuration", "App.launches", "App.wakes", "AppRecord.launches", "AppRecord.wakes",
    "PendingCalls.last", "ExportPaths.last", "OpenRemoteRequests.last", "Changes.turns",
    "BlueZStorage.keyCount", "BlueZModel.configuration", "SimulatedWorld.seed", "Radio.seed", "Radio.physics",
    "Radio.linkCount", "Machine.owners", "Changes.examined", "Callbacks.next", "Link.search", "Device.rssi",
    "Ledger.stored", "Radio.now", "BlueZModel.now", "BlueZModel.nextDeadline",
  ]

  private var now = Instant.zero

  /// Begins anew. What it knows about types stays.
  mutating func begin(at now: Instant) {
    tokens.removeAll(keepingCapacity: true)
    self.now = now
    read(now)
  }

  /// Reads what belongs to one machine, of those numbered from 1.
  mutating func read(_ value: Any, ofMachine number: Int) {
    scope = number
    read(value)
    scope = 0
  }

  mutating func read(_ value: Any) {
    switch shape(of: value) {
    case .word(let word): append(.word(word(value)))
    case .text(let text): append(.word(Self.hash(text(value).utf8)))
    case .bytes: append(.word(Self.hash((value as? [UInt8]) ?? [])))
    case .client:
      // The connections of each bus have numbers of their own.
      let parts = ((value as? ClientIdentifier)?.name ?? "").split(separator: ".")
      let bus = Self.hash((parts.first ?? "").utf8)
      append(.word(bus))
      append(
        .name(scope: Int(truncatingIfNeeded: bus), kind: 0, number: parts.last.flatMap { Int64($0) } ?? 0))
    case .name(let kind, let isScoped):
      append(.name(scope: isScoped ? scope : 0, kind: kind, number: Self.number(of: value)))
    case .path: readPath(value)
    case .leftOut: break
    case .members(let isOrdered, let readings):
      let mirror = Mirror(reflecting: value)
      append(.begin(isOrdered: isOrdered))
      if mirror.displayStyle == .enum {
        append(.word(Self.hash((mirror.children.first?.label ?? "\(value)").utf8)))
      }
      var index = 0
      for child in mirror.children {
        let reading = index < readings.count ? readings[index] : .plainly
        index += 1
        switch reading {
        case .plainly: read(child.value)
        case .notAtAll: break
        case .asSequence: append(.name(scope: scope, kind: 0, number: Self.integer(child.value)))
        case .asDeadline: append(.word(UInt64(bitPattern: max(now, child.value as? Instant ?? .zero).nanoseconds)))
        }
      }
      append(.end)
    }
  }

  private mutating func append(_ token: Token) { tokens.append(token) }

  /// Paths of objects that a client exports end with a number. Those of devices end with an address.
  private mutating func readPath(_ value: Any) {
    let text = (value as? ObjectPath)?.text ?? ""
    guard text.hasPrefix("/org/latchkey/"), let slash = text.lastIndex(of: "/"),
      let number = Int64(text[text.index(after: slash)...]),
      let kind = Self.names.firstIndex(where: { $0 == ObjectPath.self })
    else { return append(.word(Self.hash(text.utf8))) }
    append(.word(Self.hash(text[..<slash].utf8)))
    append(.name(scope: 0, kind: kind, number: number))
  }

  private static func number(of value: Any) -> Int64 {
    integer(Mirror(reflecting: value).children.first?.value ?? 0)
  }

  private static func integer(_ value: Any) -> Int64 {
    switch value {
    case let number as UInt64: return Int64(bitPattern: number)
    case let number as Int32: return Int64(number)
    case let number as Int: return Int64(number)
    case let number as UInt32: return Int64(number)
    default: return 0
    }
  }

  private mutating func shape(of value: Any) -> Shape {
    let type = Swift.type(of: value)
    if let known = shapes[ObjectIdentifier(type)] { return known }
    let found = Self.shape(type, value)
    shapes[ObjectIdentifier(type)] = found
    return found
  }

  private static func shape(_ type: Any.Type, _ value: Any) -> Shape {
    if type == ObjectPath.self { return .path }
    if type == ClientIdentifier.self { return .client }
    if let kind = names.firstIndex(where: { $0 == type }) {
      return .name(kind: kind, isScoped: kind < scopedNames.count)
    }
    if type == [UInt8].self { return .bytes }
    if type == String.self { return .text { $0 as? String ?? "" } }
    if type == Bool.self { return .word { $0 as? Bool == true ? 1 : 0 } }
    if type == Int.self { return .word { UInt64(bitPattern: Int64($0 as? Int ?? 0)) } }
    if type == Int64.self { return .word { UInt64(bitPattern: $0 as? Int64 ?? 0) } }
    if type == UInt64.self { return .word { $0 as? UInt64 ?? 0 } }
    if type == Instant.self { return .word { UInt64(bitPattern: ($0 as? Instant ?? .zero).nanoseconds) } }
    if type == UUID.self {
      return .word { ($0 as? UUID).map { hash(withUnsafeBytes(of: $0.uuid) { Array($0) }) } ?? 0 }
    }
    if type == BluetoothUUID.self {
      return .word { ($0 as? BluetoothUUID).map { ($0.high &* 0x9E37_79B9_7F4A_7C15) ^ $0.low } ?? 0 }
    }
    if type == Double.self { return .word { ($0 as? Double ?? 0).bitPattern } }
    if type is any BinaryInteger.Type {
      return .word { ($0 as? any BinaryInteger).map { UInt64(truncatingIfNeeded: $0) } ?? 0 }
    }
    let mirror = Mirror(reflecting: value)
    switch mirror.displayStyle {
    case .set, .dictionary: return .members(isOrdered: false, [])
    case .struct?, .class?:
      guard !mirror.children.isEmpty else { return .text { "\($0)" } }
      let name = "\(type)"
      return .members(
        isOrdered: true,
        mirror.children.map { child in
          let label = child.label ?? ""
          if leftOut.contains("\(name).\(label)") { return .notAtAll }
          if sequences.contains("\(name).\(label)") { return .asSequence }
          return deadlines.contains(label) ? .asDeadline : .plainly
        })
    case .none where mirror.children.isEmpty: return .leftOut
    default: return .members(isOrdered: true, [])
    }
  }

  private static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return hash
  }
}
