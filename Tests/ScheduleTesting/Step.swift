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
  case cancel(Caller, Target)
  case subscribe(Caller, Target)
  case unsubscribe(Caller, Target)
  case read(Caller, Target)
  case write(Caller, Target)
  case makeManager(Caller)
  case dropManager(Caller)
  case publish(String)
  case unpublish(String)
  case push(String)
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
  case reboot(machine: String)
  // The radio
  case plug(machine: String, on: Bool)
  case block(machine: String, on: Bool)
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
    case .cancel(let caller, let target): "cancel \(caller) \(target)"
    case .subscribe(let caller, let target): "subscribe \(caller) \(target)"
    case .unsubscribe(let caller, let target): "unsubscribe \(caller) \(target)"
    case .read(let caller, let target): "read \(caller) \(target)"
    case .write(let caller, let target): "write \(caller) \(target)"
    case .makeManager(let caller): "make \(caller)"
    case .dropManager(let caller): "drop \(caller)"
    case .publish(let app): "publish \(app)"
    case .unpublish(let app): "unpublish \(app)"
    case .push(let app): "push \(app)"
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
    case .reboot(let machine): "reboot \(machine)"
    case .plug(let machine, let on): "plug \(machine) \(on ? "on" : "off")"
    case .block(let machine, let on): "block \(machine) \(on ? "on" : "off")"
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
    switch verb {
    case "scan": guard let caller else { return nil }; self = .scan(caller, allowsDuplicates: third == "all")
    case "stop-scan": guard let caller else { return nil }; self = .stopScan(caller)
    case "connect": guard let caller, let target else { return nil }; self = .connect(caller, target)
    case "cancel": guard let caller, let target else { return nil }; self = .cancel(caller, target)
    case "subscribe": guard let caller, let target else { return nil }; self = .subscribe(caller, target)
    case "unsubscribe": guard let caller, let target else { return nil }; self = .unsubscribe(caller, target)
    case "read": guard let caller, let target else { return nil }; self = .read(caller, target)
    case "write": guard let caller, let target else { return nil }; self = .write(caller, target)
    case "make": guard let caller else { return nil }; self = .makeManager(caller)
    case "drop": guard let caller else { return nil }; self = .dropManager(caller)
    case "publish": self = .publish(name)
    case "unpublish": self = .unpublish(name)
    case "push": self = .push(name)
    case "open": self = .open(name)
    case "leave": self = .leave(name)
    case "quit": self = .quit(name)
    case "reclaim": self = .reclaim(name)
    case "bluetooth": self = .bluetooth(machine: name, on: isOn)
    case "kill": self = third.flatMap { Int($0) }.map { Step.killAppAfter(name, events: $0) } ?? .killApp(name)
    case "kill-system":
      self =
        third.flatMap { Int($0) }.map { Step.killSystemAfter(machine: name, effects: $0) } ?? .killSystem(machine: name)
    case "kill-bluetoothd": self = .restartBluetoothd(machine: name, killed: true)
    case "restart-bluetoothd": self = .restartBluetoothd(machine: name, killed: false)
    case "reboot": self = .reboot(machine: name)
    case "plug": self = .plug(machine: name, on: isOn)
    case "block": self = .block(machine: name, on: isOn)
    case "away": self = .away(machine: name)
    case "near": self = .near(machine: name)
    case "pass": guard let milliseconds = Int(name) else { return nil }; self = .pass(milliseconds: milliseconds)
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
