import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import TimeTypes

/// Requests for the signal strength of one peripheral's link. One question per peripheral is under way at a time. Its
/// answer goes to every request made before it was asked: each question costs the carrier a thread and a socket for
/// up to a second.
struct SignalReading: Sendable {
  /// The requests that the current question will answer.
  var asked: [OperationQueue.Item] = []
  var waiting: [OperationQueue.Item] = []
  /// When the question is given up, or `nil` if none is under way.
  var deadline: Instant?

  /// The most questions under way, over all peripherals.
  static let limit = 4
  /// A controller has a second to answer, and the carrier may have other questions to ask first.
  static let patience: Duration = .seconds(20)

  var isEmpty: Bool { asked.isEmpty && waiting.isEmpty && deadline == nil }

  mutating func remove(where matches: (OperationQueue.Item) -> Bool) -> [OperationQueue.Item] {
    let removed = (asked + waiting).filter(matches)
    asked.removeAll(where: matches)
    waiting.removeAll(where: matches)
    return removed
  }
}

extension BluetoothSystem {
  mutating func readSignal(_ item: OperationQueue.Item, _ peer: PeerIdentifier) {
    var reading = signalReadings[peer] ?? SignalReading()
    guard reading.waiting.count < configuration.operationLimit else {
      finish(item, peer, .failed(.limit("Too many reads of this peripheral's signal wait.")))
      return
    }
    reading.waiting.append(item)
    signalReadings[peer] = reading
  }

  mutating func runSignalReadings() {
    guard !signalReadings.isEmpty else { return }
    var underWay = signalReadings.values.count { $0.deadline.map { $0 > now } ?? false }
    for peer in signalReadings.keys.sorted() {
      guard var reading = signalReadings[peer] else { continue }
      if let deadline = reading.deadline, deadline <= now {
        reading.deadline = nil
        let items = reading.asked
        reading.asked = []
        calls.forget(.rssi(peer))
        for item in items {
          finish(
            item, peer,
            .failed(.coreBluetooth(.connectionTimeout, message: "The signal's strength could not be read in time.")))
        }
      }
      if reading.deadline == nil, !reading.waiting.isEmpty {
        if let device = bluez.device(peer), underWay < SignalReading.limit {
          underWay += 1
          (reading.asked, reading.waiting) = (reading.waiting, [])
          reading.deadline = now + SignalReading.patience
          call(device.path, .readConnectionRSSI, for: .rssi(peer))
        } else if bluez.device(peer) == nil {
          for item in reading.waiting { finish(item, peer, .failed(.peripheralGone)) }
          reading.waiting = []
        }
      }
      signalReadings[peer] = reading.isEmpty ? nil : reading
    }
  }

  mutating func signalRead(_ peer: PeerIdentifier, _ result: Result<Reply, BlueZError>) {
    if case .success(.rssi(let signal)) = result, let path = bluez.device(peer)?.path {
      bluez.devices[path]?.signalWasRead(signal)
    }
    guard var reading = signalReadings[peer] else { return }
    let outcome: OperationResult =
      switch result {
      case .success(.rssi(let rssi)): .rssi(rssi)
      case .success: .failed(.coreBluetooth(.unknown, message: "bluetoothd's answer makes no sense."))
      case .failure(let error): .failed(PeerError(error, reading: true))
      }
    let items = reading.asked
    reading.asked = []
    reading.deadline = nil
    signalReadings[peer] = reading.isEmpty ? nil : reading
    for item in items { finish(item, peer, outcome) }
  }

  mutating func failSignalReadings(_ peer: PeerIdentifier, of key: ManagerKey, _ error: PeerError) {
    for item in signalReadings[peer]?.remove(where: { $0.manager == key }) ?? [] { finish(item, peer, .failed(error)) }
  }

  mutating func forgetSignalReadings(where matches: (OperationQueue.Item) -> Bool) {
    for peer in signalReadings.keys { _ = signalReadings[peer]?.remove(where: matches) }
  }

  /// bluetoothd is gone and will not answer, so all readings end.
  mutating func endSignalReadings() {
    let open = signalReadings.sorted { $0.key < $1.key }
    signalReadings = [:]
    for (peer, reading) in open {
      for item in reading.asked + reading.waiting { finish(item, peer, .failed(.peripheralGone)) }
    }
  }
}
