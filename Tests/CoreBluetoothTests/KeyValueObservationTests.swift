import AppCodeSwift5
import AppCodeSwift6
import AppLink
import CoreBluetoothTestKit
import Foundation
import Testing

@testable import CoreBluetooth

@Suite("Key-value observing", .timeLimit(.minutes(20)))
struct KeyValueObservationTests {
  private final class Notes<Element: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var list: [Element] = []
    var all: [Element] { lock.withLock { list } }
    func add(_ element: Element) { lock.withLock { list.append(element) } }
  }

  private func disconnect(_ setup: CentralSetup) async throws {
    setup.system.emit(.disconnected(Example.lock, error: nil, unixSeconds: 0, isReconnecting: false))
    _ = try await setup.recorder.calls.next()
  }

  @Test("C8: an observer of a peripheral's state is told each change with its old and new value")
  func states() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    let notes = Notes<[CBPeripheralState?]>()
    let observation = peripheral.observe(\.state, options: [.old, .new]) { _, change in
      notes.add([change.oldValue, change.newValue])
    }
    try await disconnect(setup)
    #expect(notes.all == [[.connected, .disconnected]])
    setup.manager.connect(peripheral)
    #expect(notes.all.last == [.disconnected, .connecting], "in the app's own call, before it returns")
    observation.invalidate()
    setup.manager.cancelPeripheralConnection(peripheral)
    #expect(notes.all.count == 2)
  }

  @Test("C8: an observer is told before the delegate, and asks for what it likes")
  func order() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    let notes = Notes<String>()
    let observation = peripheral.observe(\.state) { [manager = setup.manager] peripheral, change in
      notes.add("\(peripheral.state) \(peripheral.services == nil) \(change.newValue == nil) \(manager.isScanning)")
      if peripheral.state == .disconnected { manager.connect(peripheral) }
    }
    setup.system.emit(.disconnected(Example.lock, error: nil, unixSeconds: 0, isReconnecting: false))
    let call = try await setup.recorder.calls.next()
    #expect(notes.all == ["disconnected true true false", "connecting true true false"])
    #expect("\(call)".contains("didDisconnect"))
    withExtendedLifetime(observation) {}
  }

  @Test("C8: whether a manager scans, its state, a name, a value and notifications can be observed")
  func properties() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    let characteristic = try #require(peripheral.services?.first?.characteristics?.first)
    let notes = Notes<String>()
    let observations = [
      setup.manager.observe(\.isScanning, options: .new) { _, change in notes.add("scans \(change.newValue ?? false)")
      },
      setup.manager.observe(\.state, options: .new) { manager, _ in notes.add("state \(manager.state.rawValue)") },
      peripheral.observe(\.name, options: .new) { peripheral, _ in notes.add("name \(peripheral.name ?? "")") },
      characteristic.observe(\.value) { characteristic, _ in notes.add("value \(characteristic.value?.count ?? 0)") },
    ]
    setup.manager.scanForPeripherals(withServices: nil)
    setup.manager.scanForPeripherals(withServices: nil)
    setup.manager.stopScan()
    setup.system.emit(.nameChanged(Example.lock, "Back door"))
    _ = try await setup.recorder.calls.next()
    setup.system.emit(.valueUpdated(Example.lock, characteristic: 3, value: [1, 2]))
    _ = try await setup.recorder.calls.next()
    setup.system.emit(.stateChanged(.poweredOff))
    _ = try await setup.recorder.calls.next()
    #expect(notes.all == ["scans true", "scans false", "name Back door", "value 2", "state 4"])
    withExtendedLifetime(observations) {}
  }

  @Test("C8: the options `initial` and `prior` add calls, and an observation that nobody keeps has ended")
  func options() async throws {
    let setup = try await CentralSetup()
    let notes = Notes<String>()
    let observation = setup.manager.observe(\.isScanning, options: [.initial, .prior, .new, .old]) { _, change in
      notes.add("\(change.isPrior) \(String(describing: change.newValue)) \(String(describing: change.oldValue))")
    }
    _ = setup.manager.observe(\.isScanning) { _, _ in notes.add("not kept") }
    setup.manager.scanForPeripherals(withServices: nil)
    #expect(
      notes.all == ["false Optional(false) nil", "true nil Optional(false)", "false Optional(true) Optional(false)"])
    withExtendedLifetime(observation) {}
  }

  @Test("C8: an app follows its link by an observation and by a stream of states, in both language modes")
  func apps() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    let light = setup.system.run { LinkLight() }
    light.follow(peripheral)
    var states = LinkStates(of: peripheral).makeAsyncIterator()
    let model = await ScanModel(setup.manager)
    setup.manager.scanForPeripherals(withServices: nil)
    try await disconnect(setup)
    #expect(light.states == [.connected, .disconnected])
    #expect(await states.next() == .connected)
    #expect(await states.next() == .disconnected)
    await Task.yield()
    withExtendedLifetime(model) {}
  }
}
