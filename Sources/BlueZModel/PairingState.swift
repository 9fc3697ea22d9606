import BluetoothTypes
import Radio

/// A pairing under way.
struct Pairing: Sendable {
  let isInitiator: Bool
  /// This side's input and output capability.
  let capability: UInt8
  var agent: Agents.Agent?
  /// Whether this side, and its peer, want a bond.
  let wantsBond: Bool
  var peerWantsBond = false
  var peerCapability: UInt8?
  let ownNumber: [UInt8]
  private(set) var longTermKey: [UInt8]?
  private var isConfirmedHere = false
  var peerIdentityKey: IdentityResolvingKey?
  /// The peer's check arrived before this side's user had answered.
  private var isConfirmedThere = false

  var passkey: UInt32?
  /// How many passkey exchanges are done.
  private var rounds: UInt8 = 0
  /// The initiator has begun the passkey exchanges before this side's user entered the passkey.
  private(set) var isRoundWaiting = false

  init(isInitiator: Bool, capability: UInt8, agent: Agents.Agent?, wantsBond: Bool, ownNumber: [UInt8]) {
    self.isInitiator = isInitiator
    self.capability = capability
    self.agent = agent
    self.wantsBond = wantsBond
    self.ownNumber = ownNumber
  }

  /// Takes the peer's number. The key follows from both numbers. Returns `nil` if it is not the peer's turn.
  mutating func take(number: [UInt8]) -> [UInt8]? {
    guard peerCapability != nil, longTermKey == nil else { return nil }
    longTermKey =
      isInitiator ? SecurityManager.longTermKey(ownNumber, number) : SecurityManager.longTermKey(number, ownNumber)
    return longTermKey
  }

  /// Takes one of the peer's passkey exchanges. Returns this side's reply, and whether it was the last exchange.
  /// Returns `nil` if it is out of turn, or if this side's user has not entered the passkey yet.
  mutating func take(round: UInt8) -> (says: UInt8?, isLast: Bool)? {
    guard longTermKey != nil, rounds == round, round < SecurityManager.passkeyRounds else { return nil }
    guard passkey != nil else {
      isRoundWaiting = true
      return nil
    }
    rounds = round + 1
    let isLast = rounds == SecurityManager.passkeyRounds
    return (isInitiator ? (isLast ? nil : rounds) : round, isLast)
  }

  /// This side's user agrees, or need not be asked. Returns the value that the peer checks, or `nil` without a key.
  mutating func confirm() -> [UInt8]? {
    guard let longTermKey else { return nil }
    isConfirmedHere = true
    return SecurityManager.check(longTermKey, isInitiator: isInitiator, passkey: passkey ?? 0)
  }

  /// Returns whether the peer's check is right, or `nil` without a key.
  mutating func take(check: [UInt8]) -> Bool? {
    guard let longTermKey else { return nil }
    guard check == SecurityManager.check(longTermKey, isInitiator: !isInitiator, passkey: passkey ?? 0) else {
      return false
    }
    isConfirmedThere = true
    return true
  }

  /// The central begins encryption when both sides have agreed.
  var mayEncrypt: Bool { isInitiator && isConfirmedHere && isConfirmedThere }

  /// Whether both sides keep their keys when the link ends (net/bluetooth/smp.c, smp_notify_keys).
  var makesBond: Bool { wantsBond && peerWantsBond }

  /// Whether the resulting key is safe from an attacker in the middle.
  var isAuthenticated: Bool { method != .justWorks }

  enum Method { case justWorks, comparison, showsPasskey, entersPasskey }

  /// Chosen by what both sides can show and ask (Bluetooth Core, Vol 3, Part H, 2.3.5.1, table 2.8).
  var method: Method {
    let (displayOnly, displayYesNo, keyboardOnly, none, keyboardDisplay): (UInt8, UInt8, UInt8, UInt8, UInt8) =
      (0, 1, 2, 3, 4)
    switch (capability, peerCapability) {
    case (none, _), (_, none), (_, nil): return .justWorks
    case (keyboardOnly, _): return .entersPasskey
    case (_, keyboardOnly): return .showsPasskey
    case (displayOnly, keyboardDisplay): return .showsPasskey
    case (keyboardDisplay, displayOnly): return .entersPasskey
    case (displayYesNo, displayYesNo), (displayYesNo, keyboardDisplay), (keyboardDisplay, displayYesNo),
      (keyboardDisplay, keyboardDisplay):
      return .comparison
    default: return .justWorks
    }
  }
}
