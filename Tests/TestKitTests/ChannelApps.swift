import CoreBluetoothTestKit
import Foundation

let portService = CBUUID(string: "6B2D0001-0C1E-4D7A-8F0B-9A5C1E7D3F20")

/// What an app noted, with the home's times.
final class Notebook: @unchecked Sendable {
  private let lock = NSLock()
  private var list: [String] = []
  private var bytes = Data()
  var lines: [String] { lock.withLock { list } }
  var received: Data { lock.withLock { bytes } }
  func note(_ line: String) { lock.withLock { list.append(line) } }
  func take(_ more: some Collection<UInt8>) { lock.withLock { bytes.append(contentsOf: more) } }
}

/// The bytes of a long message.
func message(_ length: Int) -> Data { Data((0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }) }

/// An app that opens one channel and uses it in one of the ways in which apps do.
final class ChannelApp: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, StreamDelegate, @unchecked Sendable {
  /// Where the streams tell what happens.
  enum Style: String, CaseIterable, Sendable {
    /// On the manager's queue, by `RunLoop.current`.
    case managerQueue
    case mainRunLoop
    /// By `CFReadStreamSetDispatchQueue`.
    case ownQueue
    /// On a thread whose run loop the app runs.
    case runLoopThread
    /// The delegate call that has the channel writes all of it, and waits for room.
    case writesAndWaits
    /// A thread reads, and waits for bytes; another one writes.
    case readingThread
  }

  private let style: Style
  private let notes: Notebook
  private let launch: SimulatedLaunch
  private let psm: CBL2CAPPSM
  private var central: CBCentralManager?
  private var port: CBPeripheral?
  private let lock = NSRecursiveLock()
  private var channel: CBL2CAPChannel?
  private var outgoing: Data
  private var thread: RunLoopThread?
  /// Stops reading after so many bytes.
  private let readLimit: Int

  init(
    _ style: Style, _ launch: SimulatedLaunch, _ notes: Notebook, psm: CBL2CAPPSM = 0x85, sends outgoing: Data = Data(),
    readLimit: Int = .max
  ) {
    (self.style, self.launch, self.notes, self.psm) = (style, launch, notes, psm)
    (self.outgoing, self.readLimit) = (outgoing, readLimit)
    super.init()
    central = CBCentralManager(delegate: self, queue: DispatchQueue(label: "channel app"))
  }

  deinit { thread?.end() }

  var written: Int { lock.withLock { wholeLength - outgoing.count } }
  private var wholeLength: Int { startLength ?? outgoing.count }
  private var startLength: Int?

  private func note(_ line: String) { notes.note("\(launch.clock.now) \(line)") }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: [portService]) }
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
    peripheral.openL2CAPChannel(psm)
  }
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) { note("disconnected") }

  func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
    guard let channel else { return note("refused \((error as? CBError)?.code.rawValue ?? -1)") }
    note("opened")
    lock.withLock {
      self.channel = channel
      startLength = outgoing.count
    }
    let streams: [Stream] = [channel.inputStream, channel.outputStream]
    for stream in streams { stream.delegate = self }
    switch style {
    case .managerQueue: for stream in streams { stream.schedule(in: .current, forMode: .default) }
    case .mainRunLoop: for stream in streams { stream.schedule(in: .main, forMode: .default) }
    case .ownQueue:
      let queue = DispatchQueue(label: "streams")
      CFReadStreamSetDispatchQueue(channel.inputStream, queue)
      CFWriteStreamSetDispatchQueue(channel.outputStream, queue)
    case .runLoopThread:
      let thread = RunLoopThread()
      self.thread = thread
      for stream in streams { stream.schedule(in: thread.loop, forMode: .default) }
    case .writesAndWaits: channel.inputStream.schedule(in: .main, forMode: .default)
    case .readingThread: break
    }
    for stream in streams { stream.open() }
    switch style {
    case .writesAndWaits: writeWaiting(channel.outputStream)
    case .readingThread:
      Thread.detachNewThread { [self] in read(channel.inputStream) }
      Thread.detachNewThread { [self] in writeWaiting(channel.outputStream) }
    default: break
    }
  }

  /// As a thread does that has nothing else to do.
  private func read(_ input: InputStream) {
    var bytes = [UInt8](repeating: 0, count: 700)
    while true {
      let count = input.read(&bytes, maxLength: bytes.count)
      guard count > 0 else { break }
      notes.take(bytes.prefix(count))
    }
    note("end")
    close()
  }

  private func writeWaiting(_ output: OutputStream) {
    let bytes = Array(outgoing)
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBufferPointer { output.write($0.baseAddress! + sent, maxLength: bytes.count - sent) }
      guard count > 0 else { return note("not written") }
      sent += count
      lock.withLock { outgoing.removeFirst(count) }
    }
    note("written")
  }

  func stream(_ stream: Stream, handle event: Stream.Event) {
    guard let channel = lock.withLock({ channel }) else { return }
    switch event {
    case .hasBytesAvailable:
      var bytes = [UInt8](repeating: 0, count: 700)
      guard notes.received.count < readLimit else { return }
      let count = channel.inputStream.read(&bytes, maxLength: bytes.count)
      note("read \(count)")
      if count > 0 { notes.take(bytes.prefix(count)) }
    case .hasSpaceAvailable:
      guard style != .writesAndWaits else { return }
      lock.withLock {
        guard !outgoing.isEmpty else { return }
        let bytes = Array(outgoing)
        let count = channel.outputStream.write(bytes, maxLength: bytes.count)
        guard count > 0 else { return }
        outgoing.removeFirst(count)
        if outgoing.isEmpty { note("written") }
      }
    case .endEncountered, .errorOccurred:
      note(stream is InputStream ? "end" : "no more")
      if stream is InputStream { close() }
    default: break
    }
  }

  func close() {
    let channel = lock.withLock {
      defer { self.channel = nil }
      return self.channel
    }
    channel?.inputStream.close()
    channel?.outputStream.close()
  }
}

/// A thread of an app that runs its run loop.
final class RunLoopThread: @unchecked Sendable {
  private let lock = NSLock()
  private var runLoop: RunLoop?
  private var isOver = false

  init() {
    let started = DispatchSemaphore(value: 0)
    Thread.detachNewThread { [self] in
      lock.withLock { runLoop = .current }
      RunLoop.current.add(Timer(timeInterval: 3600, repeats: true) { _ in }, forMode: .default)
      started.signal()
      while !lock.withLock({ isOver }) { _ = RunLoop.current.run(mode: .default, before: .distantFuture) }
    }
    started.wait()
  }

  var loop: RunLoop { lock.withLock { runLoop! } }

  func end() {
    lock.withLock { isOver = true }
    loop.add(Timer(fire: Date(), interval: 0, repeats: false) { _ in }, forMode: .default)
  }
}

/// An app that publishes a channel, tells its PSM by a characteristic, and sends back what it is sent.
final class EchoApp: NSObject, CBPeripheralManagerDelegate, StreamDelegate, @unchecked Sendable {
  private let notes: Notebook
  private let requiresEncryption: Bool
  private var manager: CBPeripheralManager?
  private var channels: [CBL2CAPChannel] = []

  init(_ notes: Notebook, requiresEncryption: Bool = false) {
    (self.notes, self.requiresEncryption) = (notes, requiresEncryption)
    super.init()
    manager = CBPeripheralManager(delegate: self, queue: DispatchQueue(label: "echo"))
  }

  func peripheralManagerDidUpdateState(_ manager: CBPeripheralManager) {
    if manager.state == .poweredOn { manager.publishL2CAPChannel(withEncryption: requiresEncryption) }
  }
  func peripheralManager(
    _ manager: CBPeripheralManager, didPublishL2CAPChannel psm: CBL2CAPPSM, error: (any Error)?
  ) {
    notes.note("published \(psm)")
    let number = CBMutableCharacteristic(
      type: CBUUID(string: CBUUIDL2CAPPSMCharacteristicString), properties: .read,
      value: Data([UInt8(psm & 0xFF), UInt8(psm >> 8)]), permissions: .readable)
    let service = CBMutableService(type: portService, primary: true)
    service.characteristics = [number]
    manager.add(service)
    advertise()
  }
  func advertise() { manager?.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [portService]]) }
  func peripheralManager(_ manager: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
    guard let channel else { return }
    notes.note("opened")
    channels.append(channel)
    for stream in [channel.inputStream, channel.outputStream] as [Stream] {
      stream.delegate = self
      stream.schedule(in: .current, forMode: .default)
      stream.open()
    }
  }
  func stream(_ stream: Stream, handle event: Stream.Event) {
    guard let channel = channels.first(where: { $0.inputStream === stream }) else { return }
    switch event {
    case .hasBytesAvailable:
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = channel.inputStream.read(&bytes, maxLength: bytes.count)
      guard count > 0 else { return }
      var sent = 0
      while sent < count {
        let more = channel.outputStream.write(Array(bytes[sent..<count]), maxLength: count - sent)
        guard more > 0 else { return }
        sent += more
      }
    case .endEncountered, .errorOccurred:
      notes.note("end")
      close(channel)
    default: break
    }
  }
  func closeAll() { for channel in channels { close(channel) } }
  func withdraw(_ psm: CBL2CAPPSM) { manager?.unpublishL2CAPChannel(psm) }
  private func close(_ channel: CBL2CAPChannel) {
    channel.inputStream.close()
    channel.outputStream.close()
    channels.removeAll { $0 === channel }
  }
}
