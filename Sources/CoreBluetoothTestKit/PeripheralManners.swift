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

  /// What it does with centrals that want to connect, from now on. Links that it has stay.
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

  /// At which strength a peripheral's signal is read.
  public enum Signal: Sendable, Hashable {
    /// As its distance has it.
    case byDistance
    /// Always this, -127 to 20 dBm, while it is in reach. How far that is is still its distance's.
    case fixed(Int)
    /// As its distance has it in `didDiscover`; `readRSSI` fails.
    case unreadable
  }

  /// At which strength apps read its signal, from now on.
  public var signal: Signal {
    get { manners.signal }
    set {
      if case .fixed(let strength) = newValue {
        precondition((-127...20).contains(strength), "a signal's strength is -127 to 20 dBm, not \(strength)")
      }
      change { $0.signal = newValue }
    }
  }

  /// Whether it pairs with a central, which it does from the start. What needs a bond (`requiresEncryption`) fails without, and
  /// bluetoothd ends the link when a pairing has failed.
  public var acceptsPairing: Bool {
    get { manners.world.pairs }
    set { change { $0.world.pairs = newValue } }
  }

  /// What a central does with a characteristic.
  public enum Access: Sendable, Hashable { case read, write, subscribe }

  /// Lets an access to a characteristic end with an error, any of ATT's, from now on. `read` and `write` of the
  /// ``SimulatedCharacteristic`` are not called. A write without response gets lost. At `insufficientAuthentication` and
  /// `insufficientEncryption` the central tries to pair, before it tells its app.
  /// - Parameters:
  ///   - error: `nil` ends the errors.
  ///   - uuid: A characteristic that it has now.
  ///   - access: Subscriptions that exist stay.
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
  /// Sets the most bytes of an attribute's message on links that a machine, a peripheral or a central has from now on: 23 to
  /// 517, which it is at the start. The smaller one of both ends counts. An app sees it in `maximumWriteValueLength(for:)` and
  /// `maximumUpdateValueLength`, which are 3 less.
  public func setMTU(_ machine: String, _ mtu: Int) {
    precondition(
      (ATTLimits.defaultMTU...ATTLimits.maximumMTU).contains(mtu),
      "an MTU is \(ATTLimits.defaultMTU) to \(ATTLimits.maximumMTU) bytes, not \(mtu)")
    engine.changeManners(of: machine) { $0.world.mtu = mtu }
  }
}

/// What a test makes of a machine.
struct HomeManners: Sendable {
  var connections = SimulatedPeripheral.Connections.accepted
  var signal = SimulatedPeripheral.Signal.byDistance
  /// Without what the two say.
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

  /// Tells the systems of centrals what their bluetoothd would not.
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
