import BluetoothTypes
import Radio

/// A pairing at hand.
struct Pairing: Sendable {
  let isInitiator: Bool
  /// Own input and output capability.
  let capability: UInt8
  var agent: Agents.Agent?
  var peerCapability: UInt8?
  let ownNumber: [UInt8]
  private(set) var longTermKey: [UInt8]?
  private var isConfirmedHere = false
  var peerIdentityKey: IdentityResolvingKey?
  /// The peer's check came before this side's user had an answer.
  private var isConfirmedThere = false

  var passkey: UInt32?
  /// Exchanges over the passkey that are done.
  private var rounds: UInt8 = 0
  /// The initiator has begun with them before this side's user had the passkey.
  private(set) var isRoundWaiting = false

  init(isInitiator: Bool, capability: UInt8, agent: Agents.Agent?, ownNumber: [UInt8]) {
    self.isInitiator = isInitiator
    self.capability = capability
    self.agent = agent
    self.ownNumber = ownNumber
  }

  /// The peer's number: the key follows from both. `nil`: it is not its turn.
  mutating func take(number: [UInt8]) -> [UInt8]? {
    guard peerCapability != nil, longTermKey == nil else { return nil }
    longTermKey =
      isInitiator ? SecurityManager.longTermKey(ownNumber, number) : SecurityManager.longTermKey(number, ownNumber)
    return longTermKey
  }

  /// One of the peer's exchanges over the passkey. What this side says to it, and whether it was the last; `nil`: it is
  /// not its turn, or the user has yet to tell the passkey.
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

  /// This side's user, or nobody, has nothing against it. What the peer checks; `nil`: there is no key yet.
  mutating func confirm() -> [UInt8]? {
    guard let longTermKey else { return nil }
    isConfirmedHere = true
    return SecurityManager.check(longTermKey, isInitiator: isInitiator, passkey: passkey ?? 0)
  }

  /// Whether the peer's check is right; `nil`: there is no key yet.
  mutating func take(check: [UInt8]) -> Bool? {
    guard let longTermKey else { return nil }
    guard check == SecurityManager.check(longTermKey, isInitiator: !isInitiator, passkey: passkey ?? 0) else {
      return false
    }
    isConfirmedThere = true
    return true
  }

  /// The central begins, when both have agreed.
  var mayEncrypt: Bool { isInitiator && isConfirmedHere && isConfirmedThere }

  /// Whether what is made is proof against somebody in between.
  var isAuthenticated: Bool { method != .justWorks }

  enum Method { case justWorks, comparison, showsPasskey, entersPasskey }

  /// By what both can show and ask (Bluetooth Core, Vol 3, Part H, 2.3.5.1, table 2.8).
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
