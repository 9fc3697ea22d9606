import AppLink
import BlueZModel
import BluetoothTypes
import CoreBluetooth

/// How a peripheral treats centrals, and how it is heard.
extension SimulatedPeripheral {
  /// What a peripheral does with a central that wants to connect.
  public enum Connections: Sendable, Hashable {
    case accepted
    /// The app is told `didFailToConnect` with this error, and its request has ended.
    case refused(CBError.Code)
    /// It never answers: an app's request waits until the app takes it back, or the peripheral answers again.
    case unanswered
  }

  /// What the peripheral does with centrals that want to connect from now on. Links that it already has stay.
  public var connections: Connections {
    get { manners.connections }
    set {
      if case .refused(let code) = newValue {
        precondition(
          PeerError.Code(rawValue: code.rawValue) != nil,
          "a connection can't fail with the unknown CBError \(code.rawValue)")
      }
      change { $0.connections = newValue }
    }
  }

  /// The strength at which apps read a peripheral's signal.
  public enum Signal: Sendable, Hashable {
    /// The strength follows from the distance.
    case byDistance
    /// Always this strength, -127 to 20 dBm. The distance still decides whether the peripheral is in reach.
    case fixed(Int)
    /// `didDiscover` has the strength that follows from the distance, and `readRSSI` fails.
    case unreadable
  }

  /// The strength at which apps read the peripheral's signal from now on.
  public var signal: Signal {
    get { manners.signal }
    set {
      if case .fixed(let strength) = newValue {
        precondition((-127...20).contains(strength), "a signal's strength is -127 to 20 dBm, not \(strength)")
      }
      change { $0.signal = newValue }
    }
  }

  /// Whether the peripheral pairs with centrals, `true` at the start. Without a bond, an access to a characteristic
  /// that needs one (`requiresEncryption`) fails, and bluetoothd ends the link when a pairing has failed.
  public var acceptsPairing: Bool {
    get { manners.world.pairs }
    set { change { $0.world.pairs = newValue } }
  }

  /// What a central does with a characteristic.
  public enum Access: Sendable, Hashable { case read, write, subscribe }

  /// Makes an access to a characteristic fail with this error from now on. The error can be any of ATT's. `read` and
  /// `write` of the ``SimulatedCharacteristic`` are then not called, and a write without response gets lost. At
  /// `insufficientAuthentication` and `insufficientEncryption`, the central tries to pair before it tells its app.
  ///
  /// - Parameters:
  ///   - error: The error, or `nil` for no error from now on.
  ///   - uuid: A characteristic that the peripheral has now.
  ///   - access: The kind of access. For `subscribe`, subscriptions that exist stay.
  public func setError(_ error: CBATTError.Code?, of uuid: String, for access: Access) {
    guard let identifier = BluetoothUUID(bigEndian: Array(known(uuid).data)) else { return }
    let attribute = MachineManners.Attribute(identifier, access.ofWorld)
    if let error {
      precondition((1...0xFF).contains(error.rawValue), "an error of ATT is 1 to 255, not \(error.rawValue)")
    }
    change { $0.world.attributeErrors[attribute] = error.map { ATTError(rawValue: UInt8($0.rawValue)) } }
  }

  private var manners: HomeManners { engine?.run { [name] in $0.manners[name] } ?? HomeManners() }

  private func change(_ body: (inout HomeManners) -> Void) { engine?.changeManners(of: name, body) }
}

extension SimulatedPeripheral.Access {
  fileprivate var ofWorld: MachineManners.Access {
    switch self {
    case .read: .read
    case .write: .write
    case .subscribe: .subscribe
    }
  }
}

extension SimulatedHome {
  /// Sets the MTU of links that a machine, a peripheral or a central gets from now on: the most bytes of one message of
  /// the attribute protocol, from 23 to 517, and 517 at the start. The smaller one of both ends counts. Apps see it
  /// less 3 in `maximumWriteValueLength(for:)` and `maximumUpdateValueLength`.
  public func setMTU(_ machine: String, _ mtu: Int) {
    precondition(
      (ATTLimits.defaultMTU...ATTLimits.maximumMTU).contains(mtu),
      "an MTU is \(ATTLimits.defaultMTU) to \(ATTLimits.maximumMTU) bytes, not \(mtu)")
    engine.changeManners(of: machine) { $0.world.mtu = mtu }
  }
}

/// How a test makes a machine behave.
struct HomeManners: Sendable {
  var connections = SimulatedPeripheral.Connections.accepted
  var signal = SimulatedPeripheral.Signal.byDistance
  var announced = AnnouncedData()
  /// Everything else. `all` adds `connections` and `signal` to it.
  var world = MachineManners()

  fileprivate var all: MachineManners {
    var all = world
    all.radio.connecting =
      switch connections {
      case .accepted: .accepts
      case .refused: .refuses
      case .unanswered: .ignores
      }
    if case .fixed(let strength) = signal { all.radio.strength = Int8(strength) }
    all.isMeasured = signal != .unreadable
    return all
  }
}

extension HomeEngine {
  func changeManners(of machine: String, _ body: (inout HomeManners) -> Void) {
    run { engine in
      engine.checkMachine(machine)
      var changed = engine.manners[machine] ?? HomeManners()
      body(&changed)
      engine.manners[machine] = changed
      engine.world.setManners(changed.all, of: machine)
    }
  }

  /// Tells the centrals' systems of connections that were refused, which bluetoothd would not tell.
  func tellRefusals() {
    for refusal in world.takeRefusals() {
      guard case .refused(let code)? = manners[refusal.peripheral]?.connections,
        let known = PeerError.Code(rawValue: code.rawValue)
      else { continue }
      let error = PeerError.coreBluetooth(known, message: "The peripheral refuses the connection.")
      work.append(.system(refusal.central, .connectionRefused(refusal.device, error)))
    }
  }
}
