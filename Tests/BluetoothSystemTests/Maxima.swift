import Foundation

@testable import BluetoothSystem

/// The maxima of everything that must not grow.
struct Maxima: CustomStringConvertible {
  var queue = 0
  var calls = 0
  var operations = 0
  var remoteRequests = 0
  var managers = 0
  var peripherals = 0
  var records = 0
  var identifiers = 0
  var effects = 0
  var journal = 0
  /// A digest of all effects, if they are recorded.
  var digest: EffectDigest?

  mutating func note(_ system: BluetoothSystem, _ effects: [BluetoothSystem.Effect]) {
    if digest != nil { for effect in effects { digest?.add(effect) } }
    queue = max(queue, system.apps.values.map(\.queue.count).max() ?? 0)
    calls = max(calls, system.calls.count)
    operations = max(operations, system.operations.values.reduce(0) { $0 + $1.waitingCount })
    remoteRequests = max(remoteRequests, system.remoteRequests.count)
    managers = max(managers, system.managers.count)
    peripherals = max(peripherals, system.held.peers.reduce(0) { $0 + system.held.holders(of: $1).count })
    records = max(records, system.stored.records.count)
    identifiers = max(identifiers, system.identifiers.count)
    self.effects = max(self.effects, effects.count)
    journal += effects.count { if case .record = $0 { true } else { false } }
  }

  var description: String {
    "queue \(queue), calls \(calls), operations \(operations), remote requests \(remoteRequests), managers \(managers), "
      + "peripherals \(peripherals), records \(records), identifiers \(identifiers), effects of a turn \(effects), "
      + "journal lines \(journal), resident at most \(Self.peakKilobytes) kB"
  }

  static var peakKilobytes: Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
  }
}
