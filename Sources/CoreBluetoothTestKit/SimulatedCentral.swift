import CoreBluetooth
import Foundation

/// A central in a simulated home. It is a machine of its own, and does with peripherals, or with apps that publish, what the test says:
/// it reads, writes, subscribes, and opens L2CAP channels. `SimulatedHome` moves it, switches it off and reboots it by its name.
///
/// It looks for a peripheral that advertises the service, connects to it, and stays connected. It waits for the peripheral as long as
/// it takes, and does one thing after the other.
public final class SimulatedCentral: @unchecked Sendable {
  /// What is to be done with a service.
  struct Wish {
    enum Act {
      /// Without a PSM, it is read from a characteristic of the service.
      case open(psm: CBL2CAPPSM?, SimulatedChannel)
      case read(SimulatedAccess)
      case write(Data, CBCharacteristicWriteType, SimulatedAccess)
      case notify(Bool, SimulatedAccess)
    }
    let service: CBUUID
    let characteristic: CBUUID
    let act: Act
  }

  public let name: String
  private let lock = NSLock()
  private var wishes: [Wish] = []
  private var received: [(uuid: CBUUID, value: Data)] = []
  /// `nil` while the central is off.
  private weak var run: CentralRun?

  init(name: String) { self.name = name }

  // MARK: Characteristics

  /// Reads a characteristic. Each UUID is as `CBUUID(string:)` takes it.
  /// - Returns: what becomes of it: the value, or an error.
  @discardableResult
  public func read(_ characteristic: String, of service: String) -> SimulatedAccess {
    access(characteristic, service) { .read($0) }
  }

  /// Writes to a characteristic.
  ///
  /// - Returns: what becomes of it. A write without response is done as soon as it is sent.
  @discardableResult
  public func write(
    _ value: Data, to characteristic: String, of service: String, type: CBCharacteristicWriteType = .withResponse
  ) -> SimulatedAccess { access(characteristic, service) { .write(value, type, $0) } }

  /// Subscribes to a characteristic's notifications or indications. They are in ``values(of:)``.
  @discardableResult
  public func subscribe(to characteristic: String, of service: String) -> SimulatedAccess {
    access(characteristic, service) { .notify(true, $0) }
  }

  /// Ends a subscription.
  @discardableResult
  public func unsubscribe(from characteristic: String, of service: String) -> SimulatedAccess {
    access(characteristic, service) { .notify(false, $0) }
  }

  /// The values that were notified or indicated, in order.
  public func values(of characteristic: String) -> [Data] {
    let uuid = CBUUID(string: characteristic)
    return lock.withLock { received.filter { $0.uuid == uuid }.map(\.value) }
  }

  private func access(
    _ characteristic: String, _ service: String, _ act: (SimulatedAccess) -> Wish.Act
  ) -> SimulatedAccess {
    let access = SimulatedAccess()
    add(
      Wish(
        service: CBUUID(string: service), characteristic: CBUUID(string: characteristic), act: act(access)))
    return access
  }

  // MARK: Channels

  /// Opens an L2CAP channel to a peripheral that has this service.
  /// - Parameters:
  ///   - service: A UUID as `CBUUID(string:)` takes it.
  ///   - psm: Without one, it is read from the service's characteristic `CBUUIDL2CAPPSMCharacteristicString`.
  /// - Returns: the channel, which is not open yet. What is written to it leaves when it is.
  @discardableResult
  public func openChannel(to service: String, psm: CBL2CAPPSM? = nil) -> SimulatedChannel {
    let channel = SimulatedChannel(psm: psm ?? 0)
    add(
      Wish(
        service: CBUUID(string: service), characteristic: CBUUID(string: CBUUIDL2CAPPSMCharacteristicString),
        act: .open(psm: psm, channel)))
    return channel
  }

  /// Ends the links that it has, and with them the channels and subscriptions.
  public func disconnect() { lock.withLock { run }?.disconnect() }

  // MARK: One run

  func launch(_ launch: SimulatedLaunch) -> AnyObject { CentralRun(self, launch) }
  func begin(_ run: CentralRun) { lock.withLock { self.run = run } }
  var next: Wish? { lock.withLock { wishes.first } }

  private func add(_ wish: Wish) {
    let run = lock.withLock {
      wishes.append(wish)
      return self.run
    }
    run?.goOn()
  }

  /// The first wish is fulfilled, or never will be.
  func finish() -> Wish? { lock.withLock { wishes.isEmpty ? nil : wishes.removeFirst() } }

  func receive(_ value: Data, _ uuid: CBUUID) { lock.withLock { received.append((uuid, value)) } }
}

/// What becomes of something that a ``SimulatedCentral`` does with a characteristic.
public final class SimulatedAccess: @unchecked Sendable {
  private let lock = NSLock()
  private var result: Result<Data?, any Error>?

  init() {}

  /// Whether it has ended, with or without success.
  public var isDone: Bool { lock.withLock { result != nil } }

  /// The value that was read, or `nil`.
  public var value: Data? { lock.withLock { try? result?.get() } }

  /// Why it has failed, as an app is told: a `CBATTError` or a `CBError`.
  public var error: (any Error)? {
    lock.withLock { if case .failure(let error)? = result { error } else { nil } }
  }

  func end(_ result: Result<Data?, any Error>) { lock.withLock { self.result = result } }
}
