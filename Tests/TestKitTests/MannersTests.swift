import CoreBluetoothTestKit
import Foundation
import Testing

/// What a test makes of a peripheral, and what the app is told.
@Suite("Peripherals that refuse, and how they are heard", .timeLimit(.minutes(20)))
struct MannersTests {
  private static let app = "org.example.gauge"
  private static let level = "2A19"

  private func home(
    _ characteristic: SimulatedCharacteristic? = nil, scansOn: Bool = false
  ) -> (home: SimulatedHome, meter: SimulatedPeripheral, app: GaugeApp) {
    let home = SimulatedHome(seed: 12)
    let level = characteristic ?? SimulatedCharacteristic(Self.level, [.read, .write, .notify], value: Data([90]))
    let meter = home.addPeripheral("meter", services: [SimulatedService("180F", [level])])
    home.addMachine("phone", x: 2)
    let app = GaugeApp(scansOn: scansOn)
    home.install(Self.app, on: "phone", backgroundModes: ["bluetooth-central"]) { _ in
      app.begin()
      return app
    }
    return (home, meter, app)
  }

  /// The call that an app is told after it was made to do something. It may be told at once.
  private func call(
    _ method: String, in home: SimulatedHome, within duration: Duration = .seconds(60), after action: () -> Void
  ) async -> SimulatedDelegateCall? {
    let count = home.calls(to: Self.app).count
    action()
    @Sendable func call() -> SimulatedDelegateCall? {
      home.calls(to: Self.app).dropFirst(count).first { $0.method == method }
    }
    await home.advance(by: duration) { call() != nil }
    return call()
  }

  // MARK: Connections

  @Test("A peripheral that refuses fails each request with the chosen error, until it accepts")
  func refused() async throws {
    let (home, meter, app) = home()
    meter.connections = .refused(.connectionLimitReached)
    #expect(meter.connections == .refused(.connectionLimitReached))
    home.open(Self.app)
    for _ in 1...3 {
      let failed = await home.nextCall("didFailToConnect", to: Self.app, within: .seconds(60))
      #expect((failed?.error as? CBError)?.code == .connectionLimitReached, "\(home.transcript(of: Self.app))")
      #expect(app.meter?.state == .disconnected)
      // Nothing goes on by itself.
      #expect(await home.nextCall("didFailToConnect", to: Self.app, within: .seconds(300)) == nil)
      #expect(home.calls(to: Self.app).allSatisfy { $0.method != "didConnect" })
      app.connect()
    }
    await home.nextCall("didFailToConnect", to: Self.app, within: .seconds(60))
    meter.connections = .accepted
    app.connect()
    #expect(await home.nextCall("didConnect", to: Self.app, within: .seconds(60)) != nil)
    meter.connections = .refused(.connectionFailed)
    #expect(await home.nextCall("didDisconnectPeripheral", to: Self.app, within: .seconds(60)) == nil)
  }

  @Test("A killed app is launched for a request that fails, is restored, and told")
  func refusedWhileKilled() async throws {
    let (home, meter, _) = home()
    meter.connections = .unanswered
    home.open(Self.app)
    await home.nextCall("didDiscover", to: Self.app, within: .seconds(60))
    await home.advance(by: .seconds(60))
    await home.suspend(Self.app)
    home.kill(Self.app)
    await home.advance(by: .seconds(3600))
    #expect(home.launchCount(Self.app) == 1)
    meter.connections = .refused(.encryptionTimedOut)
    let failed = await home.nextCall("didFailToConnect", to: Self.app, within: .seconds(1200))
    #expect((failed?.error as? CBError)?.code == .encryptionTimedOut, "\(home.transcript(of: Self.app))")
    let calls = home.calls(to: Self.app).filter { $0.launch == 2 }.map(\.method)
    #expect(calls == ["willRestoreState", "didUpdateState", "didFailToConnect"])
  }

  @Test("A request that is never answered waits, can be taken back, and is fulfilled when the peripheral answers again")
  func unanswered() async throws {
    let (home, meter, app) = home()
    meter.connections = .unanswered
    home.open(Self.app)
    await home.nextCall("didDiscover", to: Self.app, within: .seconds(60))
    await home.advance(by: .seconds(7200))
    #expect(app.meter?.state == .connecting)
    #expect(home.calls(to: Self.app).map(\.method) == ["didUpdateState", "didDiscover"])
    let ended = await call("didDisconnectPeripheral", in: home, within: .seconds(5)) { app.cancel() }
    #expect(ended != nil && ended?.error == nil)
    app.connect()
    await home.advance(by: .seconds(600))
    meter.connections = .accepted
    #expect(await home.nextCall("didConnect", to: Self.app, within: .seconds(1200)) != nil)
  }

  // MARK: The signal

  @Test("A chosen signal is what is found and what is read, at any distance")
  func signal() async throws {
    let (home, meter, app) = home()
    meter.signal = .fixed(-83)
    home.open(Self.app)
    await home.nextCall("didDiscoverServices", to: Self.app, within: .seconds(60))
    #expect(app.found == [-83])
    for strength in [-83, -40, -127, 20] {
      meter.signal = .fixed(strength)
      _ = await call("didReadRSSI", in: home) { app.readSignal() }
      #expect(app.read.last == strength, "\(home.transcript(of: Self.app))")
    }
    meter.signal = .byDistance
    _ = await call("didReadRSSI", in: home) { app.readSignal() }
    #expect((-90)...(-45) ~= (app.read.last ?? 0), "\(app.read)")
  }

  @Test("A signal that can't be read is an error, and the link stays")
  func unreadableSignal() async throws {
    let (home, meter, app) = home()
    meter.signal = .unreadable
    home.open(Self.app)
    await home.nextCall("didDiscoverServices", to: Self.app, within: .seconds(60))
    let failed = await call("didReadRSSI", in: home) { app.readSignal() }
    #expect(failed != nil && failed?.error != nil, "\(home.transcript(of: Self.app))")
    home.restartSystem("phone")
    #expect(await home.nextCall("didDisconnectPeripheral", to: Self.app, within: .seconds(120)) == nil)
    meter.signal = .fixed(-50)
    let read = await call("didReadRSSI", in: home) { app.readSignal() }
    #expect(read?.error == nil && app.read.last == -50, "\(home.transcript(of: Self.app))")
  }

  // MARK: Sizes

  @Test("A chosen MTU is what the app may write at once, and what a subscriber may be sent", arguments: [23, 185, 517])
  func mtu(_ mtu: Int) async throws {
    let (home, meter, app) = home()
    home.setMTU("meter", mtu)
    home.open(Self.app)
    await home.advance(by: .seconds(60)) { meter.subscriberCount(of: Self.level) == 1 }
    #expect(app.meter?.maximumWriteValueLength(for: .withoutResponse) == min(mtu - 3, 512))
    #expect(app.meter?.maximumWriteValueLength(for: .withResponse) == 512)
    let long = Data(repeating: 7, count: 300)
    let written = await call("didWriteValueFor", in: home) { app.write(long) }
    #expect(written?.error == nil)
    #expect(meter.writes(to: Self.level) == [long])
    // A notification carries what fits.
    meter.setValue(long, of: Self.level)
    let told = await home.nextCall("didUpdateValueFor", to: Self.app, within: .seconds(30))
    #expect(told?.value == long.prefix(mtu - 3))
  }

  @Test("The MTU of the machine, and of a central, counts as well")
  func mtuOfTheCentral() async throws {
    let (home, meter, app) = home()
    home.setMTU("phone", 100)
    home.setMTU("meter", 200)
    home.open(Self.app)
    await home.advance(by: .seconds(60)) { meter.subscriberCount(of: Self.level) == 1 }
    #expect(app.meter?.maximumWriteValueLength(for: .withoutResponse) == 97)
    // It is that of the next link.
    home.setMTU("phone", 517)
    #expect(app.meter?.maximumWriteValueLength(for: .withoutResponse) == 97)
    home.disconnect("meter")
    await home.nextCall("didDisconnectPeripheral", to: Self.app, within: .seconds(10))
    app.connect()
    await home.nextCall("didDiscoverServices", to: Self.app, within: .seconds(60))
    #expect(app.meter?.maximumWriteValueLength(for: .withoutResponse) == 197)
  }

  // MARK: Errors

  @Test("An access to a characteristic ends with the error that the test has chosen, also with one that no app answers")
  func errors() async throws {
    let (home, meter, app) = home()
    meter.setError(.insufficientResources, of: Self.level, for: .subscribe)
    home.open(Self.app)
    let refused = await home.nextCall("didUpdateNotificationStateFor", to: Self.app, within: .seconds(60))
    #expect((refused?.error as? CBATTError)?.code == .insufficientResources, "\(home.transcript(of: Self.app))")
    #expect(meter.subscriberCount(of: Self.level) == 0)
    meter.setError(.insufficientAuthorization, of: Self.level, for: .read)
    let unread = await call("didUpdateValueFor", in: home) { app.readValue() }
    #expect((unread?.error as? CBATTError)?.code == .insufficientAuthorization)
    let other = CBATTError.Code(rawValue: 0x80)
    for code in [.prepareQueueFull, .insufficientResources, other].compactMap(\.self) {
      meter.setError(code, of: Self.level, for: .write)
      for length in [1, 512] {
        let unwritten = await call("didWriteValueFor", in: home) { app.write(Data(repeating: 1, count: length)) }
        #expect((unwritten?.error as? CBATTError)?.code == code, "\(home.transcript(of: Self.app))")
      }
    }
    #expect(meter.writes(to: Self.level) == [])
    for access in [SimulatedPeripheral.Access.read, .write, .subscribe] {
      meter.setError(nil, of: Self.level, for: access)
    }
    #expect(await call("didUpdateValueFor", in: home) { app.readValue() }?.value == Data([90]))
    let written = await call("didWriteValueFor", in: home) { app.write(Data([5])) }
    #expect(written != nil && written?.error == nil)
    let subscribed = await call("didUpdateNotificationStateFor", in: home) { app.subscribe() }
    #expect(subscribed != nil && subscribed?.error == nil)
  }

  @Test("A peripheral that wants a bond and refuses to pair: the app is told, and it works once it pairs")
  func pairing() async throws {
    let level = SimulatedCharacteristic(Self.level, [.read, .notify], value: Data([90]), requiresEncryption: true)
    let (home, meter, app) = home(level)
    meter.acceptsPairing = false
    home.open(Self.app)
    await home.nextCall("didDiscoverCharacteristicsFor", to: Self.app, within: .seconds(60))
    let unread = await call("didUpdateValueFor", in: home, within: .seconds(120)) { app.readValue() }
    #expect(unread != nil && unread?.error != nil, "\(home.transcript(of: Self.app))")
    // bluetoothd ends the link of a pairing that failed.
    await home.advance(by: .seconds(30)) { app.meter?.state == .disconnected }
    #expect(app.meter?.state == .disconnected)
    #expect(!meter.acceptsPairing)
    meter.acceptsPairing = true
    _ = await call("didDiscoverCharacteristicsFor", in: home, within: .seconds(120)) { app.connect() }
    let read = await call("didUpdateValueFor", in: home, within: .seconds(120)) { app.readValue() }
    #expect(read?.value == Data([90]), "\(home.transcript(of: Self.app))")
  }

  // MARK: Answers that are notified

  private final class Reference: @unchecked Sendable { var peripheral: SimulatedPeripheral? }

  @Test(
    "What a peripheral notifies while it is read or written comes after the answer, as from one that answers by itself",
    arguments: [.atOnce, .after(.seconds(1))] as [SimulatedPeripheral.Answers])
  func notifiedAnswer(_ answers: SimulatedPeripheral.Answers) async {
    let own = Reference()
    let level = SimulatedCharacteristic(
      Self.level, [.read, .write, .notify],
      read: {
        own.peripheral?.setValue(Data([8]), of: Self.level)
        return Data([7])
      }, write: { _ in own.peripheral?.setValue(Data([6]), of: Self.level) })
    let (home, meter, app) = home(level)
    own.peripheral = meter
    meter.answers = answers
    home.open(Self.app)
    await home.nextCall("didDiscoverCharacteristicsFor", to: Self.app, within: .seconds(60))
    _ = await call("didUpdateNotificationStateFor", in: home) { app.subscribe() }
    let count = home.calls(to: Self.app).count
    app.write(Data([5]))
    await home.advance(by: .seconds(5))
    app.readValue()
    await home.advance(by: .seconds(5))
    let told = home.calls(to: Self.app).dropFirst(count).map { "\($0.method) \($0.value.map(Array.init) ?? [])" }
    #expect(
      told == ["didWriteValueFor []", "didUpdateValueFor [6]", "didUpdateValueFor [7]", "didUpdateValueFor [8]"])
  }

  // MARK: The name

  @Test("A new name is told to an app that is connected and hears it, and found by others")
  func name() async throws {
    let (home, meter, app) = home(scansOn: true)
    home.open(Self.app)
    await home.nextCall("didDiscoverServices", to: Self.app, within: .seconds(60))
    #expect(app.meter?.name == "meter")
    meter.localName = "meter 2"
    #expect(meter.localName == "meter 2")
    #expect(await home.nextCall("didUpdateName", to: Self.app, within: .seconds(120)) != nil)
    #expect(app.meter?.name == "meter 2", "\(home.transcript(of: Self.app))")
    // It stays when the peripheral starts anew.
    home.reboot("meter")
    await home.nextCall("didDisconnectPeripheral", to: Self.app, within: .seconds(60))
    app.connect()
    await home.nextCall("didConnect", to: Self.app, within: .seconds(120))
    #expect(app.meter?.name == "meter 2")
  }
}

/// Connects once to the meter that it finds, and does what the test says.
private final class GaugeApp: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private let lock = NSLock()
  private let scansOn: Bool
  private var manager: CBCentralManager?
  private var known: CBPeripheral?
  private var level: CBCharacteristic?
  private var foundSignals: [Int] = []
  private var readSignals: [Int] = []

  init(scansOn: Bool) { self.scansOn = scansOn }

  var meter: CBPeripheral? { lock.withLock { known } }
  /// How strong it was found, and read.
  var found: [Int] { lock.withLock { foundSignals } }
  var read: [Int] { lock.withLock { readSignals } }

  func begin() {
    let made = CBCentralManager(
      delegate: self, queue: DispatchQueue(label: "gauge"),
      options: [CBCentralManagerOptionRestoreIdentifierKey: "gauge"])
    lock.withLock { manager = made }
  }
  func connect() { if let meter { lock.withLock { manager }?.connect(meter) } }
  func cancel() { if let meter { lock.withLock { manager }?.cancelPeripheralConnection(meter) } }
  func readSignal() { meter?.readRSSI() }
  func readValue() { if let level = lock.withLock({ level }) { meter?.readValue(for: level) } }
  func subscribe() { if let level = lock.withLock({ level }) { meter?.setNotifyValue(true, for: level) } }
  func write(_ value: Data) {
    if let level = lock.withLock({ level }) { meter?.writeValue(value, for: level, type: .withResponse) }
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    let restored = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral]
    lock.withLock { known = restored?.first }
  }
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn, meter == nil else { return }
    central.scanForPeripherals(
      withServices: [CBUUID(string: "180F")], options: [CBCentralManagerScanOptionAllowDuplicatesKey: scansOn])
  }
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    let isFirst = lock.withLock {
      foundSignals.append(signal.intValue)
      defer { known = peripheral }
      return known == nil
    }
    guard isFirst else { return }
    if !scansOn { central.stopScan() }
    peripheral.delegate = self
    central.connect(peripheral)
  }
  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices(nil)
  }
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] where service.uuid == CBUUID(string: "180F") {
      peripheral.discoverCharacteristics(nil, for: service)
    }
  }
  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    let found = service.characteristics?.first
    lock.withLock { level = found }
    if let found, found.properties.contains(.write) { peripheral.setNotifyValue(true, for: found) }
  }
  func peripheral(_ peripheral: CBPeripheral, didReadRSSI signal: NSNumber, error: (any Error)?) {
    if error == nil { lock.withLock { readSignals.append(signal.intValue) } }
  }
}
