import BlueZ
import BusValue
import Synchronization
import SystemBus
import TimeTypes

/// The result of a method call.
struct Outcome: Sendable {
  var result: Result<[Value], BusError>
  var took: Duration

  var isSuccess: Bool { if case .success = result { true } else { false } }
  var errorName: String? { if case .failure(let error) = result { error.name } else { nil } }
  var errorText: String { if case .failure(let error) = result { error.description } else { "no error" } }
  var values: [Value] { (try? result.get()) ?? [] }
}

/// A method call that may not have been answered yet.
final class OngoingCall: Sendable {
  let label: String
  fileprivate let state = Mutex<Outcome?>(nil)
  fileprivate init(_ label: String) { self.label = label }
  var outcome: Outcome? { state.withLock { $0 } }
}

/// One connection to a machine's bus that uses org.bluez directly, and records what it hears.
final class Client: Sendable {
  /// Its column in the transcript.
  let column: String
  private let bus: Bus
  private let recorder: Recorder
  /// Whether it records bluetoothd's signals. One client of each machine does.
  private let isObserver: Bool
  /// The client whose names for objects are used, if this client does not hear of the objects itself.
  private let names: Client?

  private struct State {
    var book: ObjectBook
    var wording: Wording
    var exports = Exports()
    var held: [(label: String, call: IncomingCall)] = []
    var isBluetoothdThere = false
    var hasObjects = false
    var appearances = 0
    /// Arguments of incoming calls, by label. Only the latest are kept.
    var incoming: [String: [Value]] = [:]
  }

  private let state: Mutex<State>

  init(
    column: String, address: BusAddress, peer: String, names: Client? = nil, book: ObjectBook? = nil,
    recorder: Recorder
  ) throws {
    self.column = column
    self.recorder = recorder
    self.names = names
    isObserver = names == nil
    state = Mutex(State(book: book ?? ObjectBook(peer: peer), wording: Wording()))
    bus = try Bus(address: address)
    try bus.start(
      BusHandlers(
        onCall: { [weak self] bus, call in self?.receive(call, bus) },
        onSignal: { [weak self] _, signal in self?.receive(signal) },
        onClose: { [weak self] _, _ in self?.record("the bus has ended") }))
    bus.enqueue { bus in
      if names == nil { bus.addMatch(MatchRule(sender: WellKnown.busName)) }
      bus.watchOwner(of: WellKnown.busName) { [weak self] bus, owner in self?.ownerChanged(owner, bus) }
    }
  }

  func close() { bus.closeAndWait() }

  private func record(_ line: String) { recorder.record(line, in: column) }

  // MARK: Knowledge

  var book: ObjectBook { names?.book ?? state.withLock { $0.book } }
  var isBluetoothdThere: Bool { state.withLock { $0.isBluetoothdThere && $0.hasObjects } }
  /// How many times bluetoothd has come to the bus.
  var appearances: Int { state.withLock { $0.appearances } }
  func teach(_ wording: Wording) { state.withLock { $0.wording = wording } }
  func incoming(_ label: String) -> [Value]? { state.withLock { $0.incoming[label] } }
  func forgetIncoming(_ label: String) { state.withLock { $0.incoming[label] = nil } }

  func text(_ value: Value) -> String { text(value, naming: book) }

  private func text(_ value: Value, naming book: ObjectBook) -> String {
    state.withLock { $0.wording }.text(value) { book.name($0) }
  }

  // MARK: Calls

  /// Calls a method of an object, by the object's name. An unknown name gives a path without an object.
  func call(
    _ object: String, _ interface: String, _ member: String, _ arguments: [Value] = [], quietly: Bool = false
  ) -> OngoingCall {
    let path = book.path(object) ?? ObjectPath(unchecked: "/org/bluez/nobody")
    return call(path, named: object, interface, member, arguments, quietly: quietly)
  }

  /// - Parameter quietly: nothing about the call is recorded.
  func call(
    _ path: ObjectPath, named object: String, _ interface: String, _ member: String, _ arguments: [Value] = [],
    quietly: Bool = false
  ) -> OngoingCall {
    let ongoing = OngoingCall("\(object).\(member)(\(arguments.map(text).joined(separator: ", ")))")
    let started = recorder.time.now
    if !quietly { record("> \(ongoing.label)") }
    let call = MethodCall(
      to: WellKnown.busName, path: path, interface: interface, member: member, arguments: arguments)
    bus.enqueue { bus in
      bus.call(call) { [weak self] result in
        guard let self else { return }
        let outcome = Outcome(result: result, took: self.recorder.time.now - started)
        // The answer is recorded before the waiting code continues and writes its next line.
        if !quietly {
          self.record(
            "< \(ongoing.label): \(self.text(outcome))\(Wording.time(outcome.took, isSuccess: outcome.isSuccess))")
        }
        ongoing.state.withLock { $0 = outcome }
        self.recorder.record([], in: self.column)
      }
    }
    return ongoing
  }

  private func text(_ outcome: Outcome) -> String {
    switch outcome.result {
    case .success(let values): (["ok"] + values.map(text)).joined(separator: " ")
    case .failure(let error):
      "\(error.name): \(error.message.replacingPaths { [book] in book.name($0) })"
    }
  }

  // MARK: Exported objects

  func export(_ objects: ManagedObjects, at root: ObjectPath) { state.withLock { $0.exports.add(objects, at: root) } }
  func unexport(_ root: ObjectPath) { state.withLock { $0.exports.remove(root) } }
  /// - Parameter label: such as `offer.ReadValue`.
  func answer(_ label: String, _ answer: Exports.Answer?) { state.withLock { $0.exports.answers[label] = answer } }

  /// One of its own characteristics has a new value.
  func emit(_ value: [UInt8], from path: ObjectPath) {
    state.withLock { $0.exports.setValue(value, at: path) }
    change(path, InterfaceName.gattCharacteristic, ["Value": .bytes(value)])
  }

  /// Announces changed properties of one of its own objects.
  func change(_ path: ObjectPath, _ interface: String, _ changed: Properties, gone: [String] = []) {
    let signal = OutgoingSignal(
      path: path, interface: InterfaceName.properties, member: "PropertiesChanged",
      arguments: [.string(interface), .properties(changed), .strings(gone)])
    bus.enqueue { bus in try? bus.emit(signal) }
  }

  /// Announces that it has added or removed an object below a root.
  func tell(_ path: ObjectPath, has interfaces: Interfaces?, of interface: String, below root: ObjectPath) {
    state.withLock { $0.exports.change(path, to: interfaces, below: root) }
    let signal = OutgoingSignal(
      path: root, interface: InterfaceName.objectManager,
      member: interfaces == nil ? "InterfacesRemoved" : "InterfacesAdded",
      arguments: [.path(path), interfaces.map { Exports.encode($0) } ?? .strings([interface])])
    bus.enqueue { bus in try? bus.emit(signal) }
  }

  /// Whether a call with this label waits for the case's answer.
  func isHolding(_ label: String) -> Bool { state.withLock { $0.held.contains { $0.label == label } } }

  func answerHeld(_ label: String, _ result: Result<[Value], BusError>) {
    let call = state.withLock { state -> IncomingCall? in
      guard let index = state.held.firstIndex(where: { $0.label == label }) else { return nil }
      return state.held.remove(at: index).call
    }
    guard let call else { return }
    bus.enqueue { $0.reply(to: call, with: result) }
  }

  private func receive(_ call: IncomingCall, _ bus: isolated Bus) {
    if let answer = state.withLock({ $0.exports.standardAnswer(call) }) { return bus.reply(to: call, with: answer) }
    let label = "\(call.path.lastComponent).\(call.member)"
    let arguments = call.arguments.enumerated().map { index, value in
      index == 1 && ["RequestConfirmation", "DisplayPasskey"].contains(call.member) ? "<passkey>" : text(value)
    }
    let line = "bluetoothd: \(label)(\(arguments.joined(separator: ", ")))"
    // A monitor without thresholds is told of every advertisement, and their number is chance.
    if call.member != "DeviceFound" || !recorder.hasInThisStep(line, in: column) { record(line) }
    let answer = state.withLock { state in
      state.incoming[label] = call.arguments
      return state.exports.answer(call)
    }
    recorder.notifier.bump()
    switch answer {
    case .values(let values): bus.reply(to: call, with: .success(values))
    case .error(let name, let message): bus.reply(to: call, with: .failure(BusError(name: name, message: message)))
    case .hold:
      state.withLock { $0.held.append((label, call)) }
      recorder.notifier.bump()
    }
  }

  // MARK: Messages from bluetoothd

  private func ownerChanged(_ owner: String?, _ bus: isolated Bus) {
    let isFirst = state.withLock { $0.appearances == 0 }
    // As with objects, the line is recorded before the case sees the change.
    if isObserver, !isFirst { record(owner == nil ? "bluetoothd leaves the bus" : "bluetoothd is on the bus") }
    state.withLock { state in
      state.isBluetoothdThere = owner != nil
      state.hasObjects = false
      if owner == nil { state.book.replace([:]) } else { state.appearances += 1 }
    }
    recorder.notifier.bump()
    guard owner != nil else { return }
    bus.call(
      MethodCall(
        to: WellKnown.busName, path: .root, interface: InterfaceName.objectManager, member: "GetManagedObjects")
    ) { [weak self] result in
      guard let self, let objects = ObjectBook.objects((try? result.get())?.first) else { return }
      self.state.withLock { state in
        state.book.replace(objects)
        state.hasObjects = true
      }
      self.recorder.notifier.bump()
    }
  }

  private func receive(_ signal: IncomingSignal) {
    switch (signal.interface, signal.member) {
    case (InterfaceName.objectManager, "InterfacesAdded"):
      guard let path = signal.arguments.first?.pathValue,
        let interfaces = ObjectBook.interfaces(signal.arguments.last)
      else { return record("an InterfacesAdded that makes no sense") }
      added(path, interfaces)
    case (InterfaceName.objectManager, "InterfacesRemoved"):
      guard let path = signal.arguments.first?.pathValue, let interfaces = signal.arguments.last?.stringsValue
      else { return record("an InterfacesRemoved that makes no sense") }
      removed(path, interfaces)
    case (InterfaceName.properties, "PropertiesChanged"):
      guard signal.arguments.count == 3, let interface = signal.arguments[0].stringValue,
        let changed = signal.arguments[1].propertiesValue, let invalidated = signal.arguments[2].stringsValue
      else { return record("a PropertiesChanged that makes no sense") }
      self.changed(signal.path, interface, changed, invalidated)
    default:
      record("\(book.name(signal.path)) \(signal.member)(\(signal.arguments.map(text).joined(separator: ", ")))")
    }
  }

  /// Records the lines of a message, and then shows the case what has changed. In the other order, a case could make
  /// its next call first, and the line of that call would come before these.
  private func record(_ lines: [String], making book: ObjectBook) {
    recorder.record(lines, in: column)
    state.withLock { $0.book = book }
    recorder.notifier.bump()
  }

  /// The names of objects after this change.
  private func naming(_ own: ObjectBook) -> ObjectBook { names?.book ?? own }

  private func added(_ path: ObjectPath, _ interfaces: Interfaces) {
    var book = state.withLock { $0.book }
    book.forgetName(path)
    book.add(path, interfaces)
    let name = book.name(path)
    let naming = naming(book)
    var lines: [String] = []
    for interface in interfaces.keys.sorted() where Self.isOurs(interface) {
      let short = interface.dropFirst("org.bluez.".count)
      let properties = interfaces[interface] ?? [:]
      let words = properties.keys.sorted().filter { !Self.isVolatile($0) }.map { key in
        "\(key)=\(properties[key].map { text($0, of: key, on: name, naming: naming) } ?? "")"
      }
      // An attribute takes one line, because there are many attributes.
      if short.hasPrefix("Gatt") {
        lines.append("+ \(name) \(short) \(words.joined(separator: " "))")
      } else {
        lines += ["+ \(name) \(short)"] + words.map { "+ \(name) \(short) \($0)" }
      }
    }
    record(lines, making: book)
  }

  private func removed(_ path: ObjectPath, _ interfaces: [String]) {
    var book = state.withLock { $0.book }
    book.remove(path, interfaces)
    let name = book.name(path)
    record(
      interfaces.sorted().filter(Self.isOurs).map { "- \(name) \($0.dropFirst("org.bluez.".count))" }, making: book)
  }

  private func changed(_ path: ObjectPath, _ interface: String, _ changed: Properties, _ invalidated: [String]) {
    var book = state.withLock { $0.book }
    let before = book.objects[path]?[interface] ?? [:]
    book.change(path, interface, changed, invalidated)
    let name = book.name(path)
    let naming = naming(book)
    func words(_ value: Value?, of key: String) -> String? {
      value.map { text($0, of: key, on: name, naming: naming) }
    }
    var lines: [String] = []
    for key in changed.keys.sorted() {
      if Self.isVolatile(key) {
        // The frequency and strength are chance. Only the presence is recorded.
        if before[key] == nil { lines.append("\(name) \(key) is there") }
      } else if key == "Value" || words(before[key], of: key) != words(changed[key], of: key) {
        // bluetoothd repeats some unchanged properties. For values, every report counts.
        lines.append("\(name) \(key) = \(words(changed[key], of: key) ?? "")")
      }
    }
    record(lines + invalidated.sorted().map { "\(name) \($0) is gone" }, making: book)
  }

  /// The value of a property. UUIDs are a set, whose order has no meaning.
  private func text(_ value: Value, of property: String, on object: String, naming book: ObjectBook) -> String {
    // The hash differs between implementations, but always has this many bytes.
    if property == "Value", object.hasSuffix("/DatabaseHash"), value.bytesValue?.count == 16 { return "<hash>" }
    guard property == "UUIDs", let uuids = value.stringsValue else { return text(value, naming: book) }
    return "[" + uuids.map(Wording.uuid).sorted().joined(separator: " ") + "]"
  }

  /// bluetoothd's own profiles, which Latchkey does not use, have interfaces too.
  private static func isOurs(_ interface: String) -> Bool {
    [
      InterfaceName.adapter, InterfaceName.device, InterfaceName.gattManager, InterfaceName.gattService,
      InterfaceName.gattCharacteristic, InterfaceName.gattDescriptor, InterfaceName.advertisingManager,
      InterfaceName.agentManager, "org.bluez.Battery1", MonitorCases.manager,
    ].contains(interface)
  }

  private static func isVolatile(_ property: String) -> Bool {
    ["RSSI", "TxPower", "ManufacturerData", "ServiceData", "AdvertisingFlags", "AdvertisingData"].contains(property)
  }

  /// Records the present properties of an object.
  func describe(_ object: String, _ interface: String) {
    let book = book
    let properties = book.path(object).flatMap { book.objects[$0]?[interface] } ?? [:]
    for key in properties.keys.sorted() where !Self.isVolatile(key) {
      record("= \(object) \(key): \(properties[key].map { text($0, of: key, on: object, naming: book) } ?? "")")
    }
  }
}

extension String {
  /// Messages may contain objects' paths.
  fileprivate func replacingPaths(_ name: (ObjectPath) -> String) -> String {
    split(separator: " ", omittingEmptySubsequences: false).map { word in
      guard let start = word.firstIndex(of: "/") else { return String(word) }
      let path = word[start...].prefix { $0 == "/" || $0 == "_" || $0.isLetter || $0.isNumber }
      guard let object = ObjectPath(String(path)), path.count > 1,
        start == word.startIndex || word[word.index(before: start)] == "'"
      else { return String(word) }
      return word[..<start] + name(object) + word[path.endIndex...]
    }.joined(separator: " ")
  }
}
