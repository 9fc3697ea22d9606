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
///
/// It reads from memory by a program for each type (`MemoryReading.swift`), or, ten times more slowly, through `Mirror`. Both know a
/// type's members from the runtime, so that none can be forgotten, and give the same tokens (`StateReaderTests`).
struct StateReader: Sendable {
  enum Token: Sendable, Hashable {
    case word(UInt64)
    /// A name, by the machine on which it names something, its kind and its number.
    case name(scope: Int, kind: Int, number: Int64)
    case begin(isOrdered: Bool)
    case end
  }

  private(set) var tokens: [Token] = []
  /// The machine that is read.
  private(set) var scope = 0
  /// Whether it goes by `Mirror` alone.
  let isMirrored: Bool
  /// What was read through `Mirror` although it need not be: how often, by type.
  private(set) var mirrored: [String: Int] = [:]
  var memory = StateMemory()
  private var shapes: [ObjectIdentifier: Shape] = [:]

  init(isMirrored: Bool = false) { self.isMirrored = isMirrored }

  /// How a member is read.
  enum Reading: Sendable {
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
  static let names: [Any.Type] =
    scopedNames + [
      CallIdentifier.self, CallbackIdentifier.self, ChannelIdentifier.self, LinkIdentifier.self,
      ObjectPath.self, LinkNumber.self,
    ]
  static let scopedNames: [Any.Type] = [
    EventSequence.self, AppLinkIdentifier.self, AnswerToken.self, ProcessIdentity.self, OperationIdentifier.self,
    ActionIdentifier.self, RemoteRequestIdentifier.self,
  ]
  /// Numbers of events that are plain integers.
  private static let sequences: Set<String> = [
    "AppProcess.lastSequence", "AppProcess.handledSequence", "AppProcess.budgetMark", "ModelApp.lastEvent",
  ]

  /// Times before which something does not happen, or after which something is looked for.
  private static let deadlines: Set<String> = ["notBefore", "wakeNotBefore", "noticedUntil", "youngUntil"]

  /// Members that decide nothing: counters of names, random numbers, journals, strengths of signals, results
  /// that are kept to save time, and what is kept twice.
  private static let leftOut: Set<String> = [
    "Street.cast", "Street.sabotage", "Street.turns", "Street.tally", "Street.trace", "Street.seed",
    "Machine.lives", "Machine.lastLink", "Machine.lastProcess", "Machine.launchedBy", "Reference.cast",
    // No channel is opened in a small world.
    "ModelApp.actor", "ModelApp.lastOperation", "ModelManager.openChannels",
    "BluetoothSystem.random", "BluetoothSystem.unixSeconds", "BluetoothSystem.now", "BluetoothSystem.lastAction",
    "BluetoothSystem.configuration", "App.launches", "App.wakes", "AppRecord.launches", "AppRecord.wakes",
    "PendingCalls.last", "ExportPaths.last", "OpenRemoteRequests.last", "Changes.turns",
    "BlueZStorage.keyCount", "BlueZModel.configuration", "SimulatedWorld.seed", "Radio.seed", "Radio.physics",
    "Radio.linkCount", "Machine.owners", "Changes.examined", "Callbacks.next", "Link.search", "Device.rssi",
    "Ledger.stored", "Radio.now", "BlueZModel.now", "BlueZModel.nextDeadline",
  ]

  private(set) var now = Instant.zero

  /// Begins anew. What it knows about types stays.
  mutating func begin(at now: Instant) {
    tokens.removeAll(keepingCapacity: true)
    self.now = now
    read(now)
  }

  /// Reads what belongs to one machine, of those numbered from 1.
  mutating func read<Value>(_ value: Value, ofMachine number: Int) {
    scope = number
    read(value)
    scope = 0
  }

  mutating func read<Value>(_ value: Value) {
    if isMirrored { readMirrored(value) } else { readMemory(value) }
  }

  /// Reads a value from memory that can be read only through `Mirror`.
  mutating func readMirrored(_ value: Any, as type: Any.Type) {
    mirrored["\(type)", default: 0] += 1
    readMirrored(value)
  }

  mutating func readMirrored(_ value: Any) {
    switch shape(of: value) {
    case .word(let word): append(.word(word(value)))
    case .text(let text): append(.word(Self.hash(text(value))))
    case .bytes: append(.word(Self.hash((value as? [UInt8]) ?? [])))
    case .client: if let client = value as? ClientIdentifier { readClient(client) }
    case .name(let kind, let isScoped):
      append(.name(scope: isScoped ? scope : 0, kind: kind, number: Self.number(of: value)))
    case .path: if let path = value as? ObjectPath { readPath(path) }
    case .leftOut: break
    case .members(let isOrdered, let readings):
      let mirror = Mirror(reflecting: value)
      append(.begin(isOrdered: isOrdered))
      if mirror.displayStyle == .enum {
        append(.word(Self.hash(mirror.children.first?.label ?? "\(value)")))
      }
      var index = 0
      for child in mirror.children {
        let reading = index < readings.count ? readings[index] : .plainly
        index += 1
        switch reading {
        case .plainly: readMirrored(child.value)
        case .notAtAll: break
        case .asSequence: append(.name(scope: scope, kind: 0, number: Self.integer(child.value)))
        case .asDeadline where child.value is Instant?:
          append(.word(UInt64(bitPattern: max(now, child.value as? Instant ?? .zero).nanoseconds)))
        case .asDeadline: readMirrored(child.value)
        }
      }
      append(.end)
    }
  }

  mutating func append(_ token: Token) { tokens.append(token) }

  mutating func readClient(_ client: ClientIdentifier) {
    // The connections of each bus have numbers of their own.
    let parts = client.name.split(separator: ".")
    let bus = Self.hash(String(parts.first ?? ""))
    append(.word(bus))
    append(.name(scope: Int(truncatingIfNeeded: bus), kind: 0, number: parts.last.flatMap { Int64($0) } ?? 0))
  }

  /// Paths of objects that a client exports end with a number. Those of devices end with an address.
  mutating func readPath(_ path: ObjectPath) {
    let text = path.text
    guard text.hasPrefix("/org/latchkey/"), let slash = text.lastIndex(of: "/"),
      let number = Int64(text[text.index(after: slash)...]),
      let kind = Self.names.firstIndex(where: { $0 == ObjectPath.self })
    else { return append(.word(Self.hash(text))) }
    append(.word(Self.hash(String(text[..<slash]))))
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
      return .word { ($0 as? UUID).map(hash) ?? 0 }
    }
    if type == BluetoothUUID.self {
      return .word { ($0 as? BluetoothUUID).map(hash) ?? 0 }
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
      return .members(
        isOrdered: true, mirror.children.map { reading(of: $0.label ?? "", in: type) })
    case .none where mirror.children.isEmpty: return .leftOut
    default: return .members(isOrdered: true, [])
    }
  }

  /// How a member of a struct is read.
  static func reading(of label: String, in type: Any.Type) -> Reading {
    if leftOut.contains("\(type).\(label)") { return .notAtAll }
    if sequences.contains("\(type).\(label)") { return .asSequence }
    return deadlines.contains(label) ? .asDeadline : .plainly
  }

  // MARK: One number for a value

  static func hash(_ text: String) -> UInt64 {
    text.utf8.withContiguousStorageIfAvailable { hash(UnsafeRawBufferPointer($0)) } ?? hash(Array(text.utf8))
  }

  static func hash(_ bytes: [UInt8]) -> UInt64 { bytes.withUnsafeBytes { hash($0) } }

  static func hash(_ uuid: UUID) -> UInt64 { withUnsafeBytes(of: uuid.uuid) { hash($0) } }

  static func hash(_ uuid: BluetoothUUID) -> UInt64 { (uuid.high &* 0x9E37_79B9_7F4A_7C15) ^ uuid.low }

  /// Eight bytes at a time, each step as in FNV-1a, and turned so that every bit counts.
  private static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325 ^ UInt64(bytes.count)
    func add(_ word: UInt64) {
      hash = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
      hash ^= hash >> 29
    }
    var place = 0
    while place + 8 <= bytes.count {
      add(bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
      place += 8
    }
    var rest: UInt64 = 0
    while place < bytes.count {
      rest = rest << 8 | UInt64(bytes[place])
      place += 1
    }
    add(rest)
    return hash
  }
}
