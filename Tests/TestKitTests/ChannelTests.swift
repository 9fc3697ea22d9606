import CoreBluetoothTestKit
import Foundation
import Testing

@Suite("L2CAP channels in a home", .timeLimit(.minutes(20)))
struct ChannelTests {
  private static let app = "org.example.app"

  /// A peripheral with a PSM, and an app in reach of it.
  private struct Scene {
    let home: SimulatedHome
    let port: SimulatedPeripheral
    let listener: SimulatedChannelListener
    let notes = Notebook()
    var channel: SimulatedChannel? { listener.channels.last }
    var app: ChannelApp? { home.app(ChannelTests.app) as? ChannelApp }

    init(
      _ style: ChannelApp.Style, psm: CBL2CAPPSM = 0x85, sends outgoing: Data = Data(), readLimit: Int = .max,
      modes: [String] = ["bluetooth-central"], withEncryption: Bool = false,
      whenOpened: @escaping @Sendable (SimulatedChannel) -> Void = { _ in }
    ) {
      home = SimulatedHome(seed: 4)
      port = home.addPeripheral("port", services: [SimulatedService("\(portService)", [])])
      listener = port.publishChannel(psm: 0x85, withEncryption: withEncryption, whenOpened: whenOpened)
      home.addMachine("phone", x: 2)
      home.install(ChannelTests.app, on: "phone", backgroundModes: modes) { [notes] launch in
        ChannelApp(style, launch, notes, psm: psm, sends: outgoing, readLimit: readLimit)
      }
      home.open(ChannelTests.app)
    }

    func opened() async -> Bool {
      await home.advance(by: .seconds(60)) { channel?.isOpen == true }
    }
  }

  @Test(
    "C7: an app sends and receives a long message over a channel, however it uses the streams, and a seed gives the same run",
    arguments: ChannelApp.Style.allCases)
  func bothWays(_ style: ChannelApp.Style) async throws {
    var runs: [[String]] = []
    let (there, back) = (message(60_000), message(90_000))
    for _ in 0..<3 {
      let scene = Scene(style, sends: there) { $0.write(back) }
      #expect(await scene.opened())
      let channel = try #require(scene.channel)
      #expect(await scene.home.advance(by: .seconds(60)) { channel.received.count == there.count }, "\(style)")
      #expect(channel.received == there)
      await scene.home.advance(by: .seconds(60)) { scene.notes.received.count == back.count }
      #expect(scene.notes.received == back)
      channel.close()
      #expect(await scene.home.advance(by: .seconds(5)) { scene.notes.lines.last?.hasSuffix(" end") == true })
      #expect(scene.home.log(of: Self.app).misuses.isEmpty)
      runs.append(scene.notes.lines)
    }
    // How soon a thread of the app's own begins is not the home's to say.
    guard style != .readingThread else { return }
    #expect(runs.map { $0.sorted() }.allSatisfy { $0 == runs[0].sorted() }, "\(runs)")
  }

  @Test("C7: while a peripheral reads nothing, an app can send what the buffers and the credits hold, and no more")
  func writerIsHeldBack() async throws {
    let whole = message(400_000)
    let scene = Scene(.managerQueue, sends: whole) { $0.pauseReading() }
    #expect(await scene.opened())
    await scene.home.advance(by: .seconds(60))
    let written = try #require(scene.app?.written)
    #expect(written > 10_000 && written < 200_000, "\(written)")
    await scene.home.advance(by: .seconds(3600))
    #expect(scene.app?.written == written)
    let channel = try #require(scene.channel)
    #expect(channel.received.isEmpty)
    channel.resumeReading()
    #expect(await scene.home.advance(by: .seconds(120)) { channel.received.count == whole.count })
    #expect(channel.received == whole)
  }

  @Test("C7: an app that stops reading holds its peripheral back, and time passes all the same")
  func readerHoldsBack() async throws {
    let scene = Scene(.mainRunLoop, readLimit: 7000) { $0.write(message(400_000)) }
    #expect(await scene.opened())
    await scene.home.advance(by: .seconds(3600))
    let unsent = try #require(scene.channel?.unsentCount)
    #expect(unsent > 200_000 && unsent < 390_000, "\(unsent)")
    let read = scene.notes.received.count
    #expect((7000..<7700).contains(read), "\(read)")
    await scene.home.advance(by: .seconds(3600))
    #expect(scene.channel?.unsentCount == unsent && scene.notes.received.count == read)
  }

  @Test("C7: a link that is lost in the middle ends the channel at both ends, after what came before")
  func lostLink() async throws {
    let whole = message(400_000)
    let scene = Scene(.readingThread, sends: whole) { $0.write(whole) }
    #expect(await scene.opened())
    #expect(await scene.home.advance(by: .seconds(60)) { scene.notes.received.count > 20_000 })
    scene.home.move("phone", x: 5000)
    #expect(await scene.home.advance(by: .seconds(60)) { scene.channel?.isClosed == true })
    await scene.home.advance(by: .seconds(60))
    let channel = try #require(scene.channel)
    #expect(channel.error == nil)
    #expect(whole.starts(with: scene.notes.received) && whole.starts(with: channel.received))
    #expect(channel.received.count > 10_000 && channel.received.count < whole.count)
    let words = Set(scene.notes.lines.compactMap { $0.split(separator: " ").last })
    #expect(words.isSuperset(of: ["end", "disconnected"]), "\(scene.notes.lines)")
  }

  @Test("C7: an app that closes its channel, is killed or has no power ends it for its peer, which has all that came")
  func ends() async throws {
    let endings: [@Sendable (SimulatedHome) -> Void] = [
      { ($0.app(Self.app) as? ChannelApp)?.close() }, { $0.kill(Self.app) }, { $0.turnOff("phone") },
    ]
    for (number, ending) in endings.enumerated() {
      let scene = Scene(.ownQueue, sends: message(900))
      #expect(await scene.opened())
      await scene.home.advance(by: .seconds(2))
      ending(scene.home)
      let isClosed = await scene.home.advance(by: .seconds(30)) { scene.channel?.isClosed == true }
      #expect(isClosed, "\(number)")
      #expect(scene.channel?.received == message(900))
    }
  }

  @Test("C7: channels outlive a restart of the system, but not of bluetoothd; peripherals publish again")
  func restarts() async throws {
    let scene = Scene(.mainRunLoop)
    #expect(await scene.opened())
    scene.home.restartSystem("phone")
    scene.home.restartSystem("port")
    await scene.home.advance(by: .seconds(5))
    scene.channel?.write(Data([1, 2, 3]))
    await scene.home.advance(by: .seconds(2))
    #expect(scene.notes.received == Data([1, 2, 3]))
    scene.home.restartBluetoothd("port")
    #expect(await scene.home.advance(by: .seconds(30)) { scene.channel?.isClosed == true })
    #expect(await scene.home.advance(by: .seconds(30)) { scene.notes.lines.contains { $0.hasSuffix(" end") } })
    scene.home.turnOff("port")
    await scene.home.advance(by: .seconds(60))
    scene.home.turnOn("port")
    scene.home.kill(Self.app)
    scene.home.open(Self.app)
    #expect(await scene.home.advance(by: .seconds(120)) { scene.listener.channels.count == 2 })
  }

  @Test("C7: an app that is suspended learns of the bytes when it runs again, and of the end of its channel")
  func suspended() async throws {
    let scene = Scene(.managerQueue, modes: [])
    #expect(await scene.opened())
    await scene.home.suspend(Self.app)
    scene.channel?.write(Data([1, 2, 3]))
    await scene.home.advance(by: .seconds(60))
    #expect(scene.notes.received.isEmpty)
    #expect(scene.home.isSuspended(Self.app))
    scene.home.open(Self.app)
    await scene.home.advance(by: .seconds(1))
    #expect(scene.notes.received == Data([1, 2, 3]))
  }

  @Test("C7: a PSM that nobody has published is refused; one that requires encryption pairs first")
  func refused() async throws {
    let unknown = Scene(.mainRunLoop, psm: 0x91)
    await unknown.home.advance(by: .seconds(30))
    #expect(unknown.notes.lines.last?.hasSuffix("refused \(CBError.connectionFailed.rawValue)") == true)
    let encrypted = Scene(.mainRunLoop, withEncryption: true) { $0.write(Data([7])) }
    #expect(await encrypted.opened(), "\(encrypted.notes.lines)")
    await encrypted.home.advance(by: .seconds(5))
    #expect(encrypted.notes.received == Data([7]))
    encrypted.port.unpublishChannel(psm: 0x85)
    encrypted.home.kill(Self.app)
    encrypted.home.open(Self.app)
    await encrypted.home.advance(by: .seconds(60))
    #expect(encrypted.notes.lines.last?.hasSuffix("refused \(CBError.connectionFailed.rawValue)") == true)
  }

  @Test("C7: an app publishes a channel; a central of the test reads its PSM, opens it, and talks to it")
  func publisher() async throws {
    let home = SimulatedHome(seed: 9)
    home.addMachine("server")
    let notes = Notebook()
    home.install(Self.app, on: "server", backgroundModes: ["bluetooth-peripheral"]) { _ in EchoApp(notes) }
    home.open(Self.app)
    let visitor = home.addCentral("visitor", x: 2)
    let first = visitor.openChannel(to: "\(portService)")
    first.write(message(30_000))
    #expect(await home.advance(by: .seconds(120)) { first.received.count == 30_000 }, "\(notes.lines)")
    #expect(first.read() == message(30_000))
    #expect(notes.lines == ["published \(first.psm)", "opened"])
    let second = visitor.openChannel(to: "\(portService)", psm: first.psm)
    #expect(await home.advance(by: .seconds(30)) { second.isOpen })
    first.close()
    #expect(await home.advance(by: .seconds(5)) { notes.lines.last == "end" })
    #expect(first.isClosed && second.isOpen)
    let app = try #require(home.app(Self.app) as? EchoApp)
    app.closeAll()
    #expect(await home.advance(by: .seconds(5)) { second.isClosed })
    let third = visitor.openChannel(to: "\(portService)", psm: 0x92)
    #expect(await home.advance(by: .seconds(30)) { third.isClosed })
    #expect((third.error as? CBError)?.code == .connectionFailed)
    // The next one is opened when the visitor is back.
    home.turnOff("visitor")
    await home.advance(by: .seconds(60))
    let fourth = visitor.openChannel(to: "\(portService)")
    home.turnOn("visitor")
    #expect(await home.advance(by: .seconds(120)) { fourth.isOpen })
    visitor.disconnect()
    #expect(await home.advance(by: .seconds(30)) { fourth.isClosed })
    #expect(home.log(of: Self.app).misuses.isEmpty)
  }

  @Test("C7: a home lists what delegates are told of channels, and what the module itself answers them")
  func listedCalls() async throws {
    let home = SimulatedHome(seed: 9)
    home.addMachine("server")
    let server = "org.example.server"
    home.install(server, on: "server", backgroundModes: ["bluetooth-peripheral"]) { _ in EchoApp(Notebook()) }
    home.open(server)
    let published = try #require(await home.nextCall("didPublishL2CAPChannel", to: server, within: .seconds(1)))
    #expect(published.error == nil)
    let channel = home.addCentral("visitor", x: 2).openChannel(to: "\(portService)")
    let opened = await home.nextCall("didOpen", to: server, within: .seconds(60))
    #expect(opened?.peer != nil && opened?.error == nil, "\(home.transcript(of: server))")
    #expect(await home.advance(by: .seconds(10)) { channel.isOpen })
    var withdrawals: [(any Error)?] = []
    for _ in 0..<2 {
      home.run(as: server) { (home.app(server) as? EchoApp)?.withdraw(channel.psm) }
      let call = try #require(await home.nextCall("didUnpublishL2CAPChannel", to: server, within: .seconds(1)))
      withdrawals.append(call.error)
    }
    #expect(withdrawals.map { $0 == nil } == [true, false])
    home.run(as: server) { (home.app(server) as? EchoApp)?.advertise() }
    let refused = try #require(await home.nextCall("didStartAdvertising", to: server, within: .seconds(1)))
    #expect((refused.error as? CBError)?.code == .alreadyAdvertising)

    let scene = Scene(.mainRunLoop)
    let own = await scene.home.nextCall("didOpen", to: Self.app, within: .seconds(60))
    #expect(own?.peer != nil && own?.error == nil, "\(scene.home.transcript(of: Self.app))")
    #expect(scene.home.calls(to: Self.app).count { $0.method == "didOpen" } == 1)
  }

  @Test("C7: a stream on a run loop that never runs keeps no time from passing")
  func deadRunLoop() async throws {
    let home = SimulatedHome(seed: 4)
    let port = home.addPeripheral("port", services: [SimulatedService("\(portService)", [])])
    let listener = port.publishChannel(psm: 0x85) { $0.write(Data([1])) }
    home.addMachine("phone", x: 2)
    home.install(Self.app, on: "phone", backgroundModes: []) { launch in DeafApp(launch) }
    home.open(Self.app)
    await home.advance(by: .seconds(60))
    #expect(listener.channels.count == 1)
    #expect(home.clock.now == .seconds(60))
  }
}

/// Schedules its streams on the run loop of a thread that does not run it.
private final class DeafApp: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private var central: CBCentralManager?
  private var port: CBPeripheral?
  private var channel: CBL2CAPChannel?
  private let loop: RunLoop

  init(_ launch: SimulatedLaunch) {
    nonisolated(unsafe) var loop: RunLoop?
    let made = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      loop = .current
      made.signal()
    }
    made.wait()
    self.loop = loop!
    super.init()
    central = CBCentralManager(delegate: self, queue: DispatchQueue(label: "deaf"))
  }
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    central.scanForPeripherals(withServices: [portService])
  }
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    central.stopScan()
    port = peripheral
    peripheral.delegate = self
    central.connect(peripheral)
  }
  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.openL2CAPChannel(0x85)
  }
  func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
    self.channel = channel
    for stream in [channel?.inputStream, channel?.outputStream] as [Stream?] {
      stream?.schedule(in: loop, forMode: .default)
      stream?.open()
    }
  }
}
