import TimeTypes

/// A manager of an app, as a step names it: `ann.1`.
package struct Caller: Sendable, Hashable {
  package var app: String
  package var manager: Int
  package init(_ app: String, _ manager: Int) { (self.app, self.manager) = (app, manager) }
}

/// One thing that happens in a schedule. Each has a text, in which a failing schedule is printed and replayed.
package enum Step: Sendable, Hashable {
  // Calls of apps. A call of an app that can't make it now is skipped.
  case scan(Caller, allowsDuplicates: Bool)
  case stopScan(Caller)
  case connect(Caller, Target)
  /// The system is to make the connection again by itself.
  case keep(Caller, Target)
  /// It is to begin only after some seconds (`CBConnectPeripheralOptionStartDelayKey`).
  case delay(Caller, Target)
  case cancel(Caller, Target)
  case subscribe(Caller, Target)
  case unsubscribe(Caller, Target)
  case read(Caller, Target)
  case write(Caller, Target)
  /// Writes without responses, many at once.
  case stream(Caller, Target)
  case readSignal(Caller, Target)
  case makeManager(Caller)
  case dropManager(Caller)
  case publish(String)
  case unpublish(String)
  case push(String)
  /// Pushes values as long as there is credit.
  case flood(String)
  /// Publishes an L2CAP channel.
  case listen(String)
  case stopListening(String)
  /// Opens the channel that the target's app publishes.
  case openChannel(Caller, Target)
  /// Wants to hear of all links to its targets, whoever made them.
  case watch(Caller)
  case stopWatching(Caller)
  /// Asks for the peripherals that the app has learned of, by their identifiers.
  case retrieve(Caller)
  // The user
  case open(String)
  case leave(String)
  case quit(String)
  case reclaim(String)
  case bluetooth(machine: String, on: Bool)
  // Deaths
  case killApp(String)
  /// The app dies of the event after that many more, before it says anything about it.
  case killAppAfter(String, events: Int)
  case killSystem(machine: String)
  /// The system dies in the middle of a turn: after that many more effects.
  case killSystemAfter(machine: String, effects: Int)
  case restartBluetoothd(machine: String, killed: Bool)
  case stopBluetoothd(machine: String)
  case startBluetoothd(machine: String)
  case reboot(machine: String)
  case cutPower(machine: String)
  /// Every machine's user removes all bonds. A bond that only one side has is of no use to an app, until its user acts.
  case unpair
  /// One machine's user removes its bonds, and the other side keeps its own. Everybody's user removes them at the end.
  case forgetBonds(machine: String)
  /// The machine has slept.
  case wake(machine: String)
  /// Memory is short.
  case press(machine: String)
  // The radio
  case plug(machine: String, on: Bool)
  case block(machine: String, on: Bool)
  /// Another client of bluetoothd switches the adapter.
  case power(machine: String, on: Bool)
  case away(machine: String)
  case near(machine: String)
  case pass(milliseconds: Int)
}

extension Step: CustomStringConvertible {
  package var description: String {
    switch self {
    case .scan(let caller, let allowsDuplicates): "scan \(caller)\(allowsDuplicates ? " all" : "")"
    case .stopScan(let caller): "stop-scan \(caller)"
    case .connect(let caller, let target): "connect \(caller) \(target)"
    case .keep(let caller, let target): "keep \(caller) \(target)"
    case .delay(let caller, let target): "delay \(caller) \(target)"
    case .cancel(let caller, let target): "cancel \(caller) \(target)"
    case .subscribe(let caller, let target): "subscribe \(caller) \(target)"
    case .unsubscribe(let caller, let target): "unsubscribe \(caller) \(target)"
    case .read(let caller, let target): "read \(caller) \(target)"
    case .write(let caller, let target): "write \(caller) \(target)"
    case .stream(let caller, let target): "stream \(caller) \(target)"
    case .readSignal(let caller, let target): "rssi \(caller) \(target)"
    case .makeManager(let caller): "make \(caller)"
    case .dropManager(let caller): "drop \(caller)"
    case .publish(let app): "publish \(app)"
    case .unpublish(let app): "unpublish \(app)"
    case .push(let app): "push \(app)"
    case .flood(let app): "flood \(app)"
    case .listen(let app): "listen \(app)"
    case .stopListening(let app): "stop-listening \(app)"
    case .openChannel(let caller, let target): "channel \(caller) \(target)"
    case .watch(let caller): "watch \(caller)"
    case .stopWatching(let caller): "stop-watching \(caller)"
    case .retrieve(let caller): "retrieve \(caller)"
    case .open(let app): "open \(app)"
    case .leave(let app): "leave \(app)"
    case .quit(let app): "quit \(app)"
    case .reclaim(let app): "reclaim \(app)"
    case .bluetooth(let machine, let on): "bluetooth \(machine) \(on ? "on" : "off")"
    case .killApp(let app): "kill \(app)"
    case .killAppAfter(let app, let events): "kill \(app) \(events)"
    case .killSystem(let machine): "kill-system \(machine)"
    case .killSystemAfter(let machine, let effects): "kill-system \(machine) \(effects)"
    case .restartBluetoothd(let machine, let killed): "\(killed ? "kill" : "restart")-bluetoothd \(machine)"
    case .stopBluetoothd(let machine): "stop-bluetoothd \(machine)"
    case .startBluetoothd(let machine): "start-bluetoothd \(machine)"
    case .reboot(let machine): "reboot \(machine)"
    case .cutPower(let machine): "cut-power \(machine)"
    case .unpair: "unpair all"
    case .forgetBonds(let machine): "unpair \(machine)"
    case .wake(let machine): "wake \(machine)"
    case .press(let machine): "press \(machine)"
    case .plug(let machine, let on): "plug \(machine) \(on ? "on" : "off")"
    case .block(let machine, let on): "block \(machine) \(on ? "on" : "off")"
    case .power(let machine, let on): "power \(machine) \(on ? "on" : "off")"
    case .away(let machine): "away \(machine)"
    case .near(let machine): "near \(machine)"
    case .pass(let milliseconds): "pass \(milliseconds)"
    }
  }

  /// Reads the text of one step.
  package init?(_ text: String) {
    let words = text.split(separator: " ").map(String.init)
    guard let verb = words.first, words.count >= 2 else { return nil }
    let name = words[1]
    let third = words.count > 2 ? words[2] : nil
    let caller = Caller(name)
    let target = third.flatMap { Target(rawValue: $0) }
    let isOn = third == "on"
    switch (verb, caller, target) {
    case ("scan", let caller?, _): self = .scan(caller, allowsDuplicates: third == "all")
    case ("stop-scan", let caller?, _): self = .stopScan(caller)
    case ("connect", let caller?, let target?): self = .connect(caller, target)
    case ("keep", let caller?, let target?): self = .keep(caller, target)
    case ("delay", let caller?, let target?): self = .delay(caller, target)
    case ("cancel", let caller?, let target?): self = .cancel(caller, target)
    case ("subscribe", let caller?, let target?): self = .subscribe(caller, target)
    case ("unsubscribe", let caller?, let target?): self = .unsubscribe(caller, target)
    case ("read", let caller?, let target?): self = .read(caller, target)
    case ("write", let caller?, let target?): self = .write(caller, target)
    case ("stream", let caller?, let target?): self = .stream(caller, target)
    case ("rssi", let caller?, let target?): self = .readSignal(caller, target)
    case ("make", let caller?, _): self = .makeManager(caller)
    case ("drop", let caller?, _): self = .dropManager(caller)
    case ("publish", _, _): self = .publish(name)
    case ("unpublish", _, _): self = .unpublish(name)
    case ("push", _, _): self = .push(name)
    case ("flood", _, _): self = .flood(name)
    case ("listen", _, _): self = .listen(name)
    case ("stop-listening", _, _): self = .stopListening(name)
    case ("channel", let caller?, let target?): self = .openChannel(caller, target)
    case ("watch", let caller?, _): self = .watch(caller)
    case ("stop-watching", let caller?, _): self = .stopWatching(caller)
    case ("retrieve", let caller?, _): self = .retrieve(caller)
    case ("open", _, _): self = .open(name)
    case ("leave", _, _): self = .leave(name)
    case ("quit", _, _): self = .quit(name)
    case ("reclaim", _, _): self = .reclaim(name)
    case ("bluetooth", _, _): self = .bluetooth(machine: name, on: isOn)
    case ("kill", _, _): self = third.flatMap { Int($0) }.map { Step.killAppAfter(name, events: $0) } ?? .killApp(name)
    case ("kill-system", _, _):
      self =
        third.flatMap { Int($0) }.map { Step.killSystemAfter(machine: name, effects: $0) } ?? .killSystem(machine: name)
    case ("kill-bluetoothd", _, _): self = .restartBluetoothd(machine: name, killed: true)
    case ("restart-bluetoothd", _, _): self = .restartBluetoothd(machine: name, killed: false)
    case ("stop-bluetoothd", _, _): self = .stopBluetoothd(machine: name)
    case ("start-bluetoothd", _, _): self = .startBluetoothd(machine: name)
    case ("reboot", _, _): self = .reboot(machine: name)
    case ("cut-power", _, _): self = .cutPower(machine: name)
    case ("unpair", _, _): self = name == "all" ? .unpair : .forgetBonds(machine: name)
    case ("wake", _, _): self = .wake(machine: name)
    case ("press", _, _): self = .press(machine: name)
    case ("plug", _, _): self = .plug(machine: name, on: isOn)
    case ("block", _, _): self = .block(machine: name, on: isOn)
    case ("power", _, _): self = .power(machine: name, on: isOn)
    case ("away", _, _): self = .away(machine: name)
    case ("near", _, _): self = .near(machine: name)
    case ("pass", _, _):
      guard let milliseconds = Int(name) else { return nil }
      self = .pass(milliseconds: milliseconds)
    default: return nil
    }
  }
}

extension Caller: CustomStringConvertible {
  package var description: String { "\(app).\(manager)" }

  init?(_ text: String) {
    let parts = text.split(separator: ".")
    guard parts.count == 2, let manager = Int(parts[1]) else { return nil }
    self.init(String(parts[0]), manager)
  }
}

/// A seed of the simulated world, and what happens in it.
package struct Schedule: Sendable, Hashable, CustomStringConvertible {
  package var seed: UInt64
  package var steps: [Step]
  package init(seed: UInt64, steps: [Step]) { (self.seed, self.steps) = (seed, steps) }

  package var description: String { steps.map(\.description).joined(separator: "; ") }

  /// Reads the steps of a schedule, separated by semicolons. An unknown step is returned as its text.
  package static func steps(_ text: String) -> Result<[Step], UnknownStep> {
    var steps: [Step] = []
    for part in text.split(separator: ";") {
      guard let step = Step(String(part)) else { return .failure(UnknownStep(text: String(part))) }
      steps.append(step)
    }
    return .success(steps)
  }

  package struct UnknownStep: Error { package let text: String }
}
