/// What an owner can set, and the figures that the policy rests on.
///
/// Signals are in dBm as controllers report them (Bluetooth Core, Vol 4, Part E, 7.5.4), which are true to about 6 dB.
/// The defaults fit a lock that is heard at -59 dBm over a metre and at -94 dBm at the edge of its range;
/// docs/arrival.md has the trials that they were chosen by.
public struct HomeConfiguration: Sendable, Hashable {
  /// How long the link must have been lost at least before its return can begin an approach. A link at the edge of its
  /// range comes and goes in seconds; a lock takes 10 s to lock behind its owner.
  public var awayDuration: Duration = .seconds(5)
  /// The strongest signal that a link can come up with at the edge of its range, in dBm. Stronger, and the phone was
  /// here before the link was: its return is no approach.
  public var weakSignal = -86
  /// By how much weaker than `weakSignal` a link must come up, in dB, to open a bolt that was locked at home.
  public var edgeMargin = 4
  /// By how much a signal must rise above its beginning, in dB, to show that its phone is on the move.
  public var risingMargin = 4
  /// How soon it must have risen to open a bolt that was locked at home: who sleeps in the farthest room does not move.
  public var risingDuration: Duration = .seconds(30)
  /// How long after its beginning such an approach may reach the door.
  public var wholeWindow: Duration = .seconds(180)
  /// The strongest signal that a link can be lost with by who walks away, in dBm.
  public var fadedSignal = -88
  /// By how much it was stronger before, in dB.
  public var fadingMargin = 12
  /// How long fading takes at most, from that stronger signal to the loss of the link: who leaves does not stop.
  public var fadingDuration: Duration = .seconds(90)
  /// The weakest signal that counts as being near the door, in dBm.
  public var nearSignal = -75
  /// By how much a signal must be above `nearSignal` to count as the door's at once, in dB. Between the two it has to
  /// stay for `nearDuration`, which who walks past does not.
  public var doorMargin = 5
  /// How long a signal must be near, where it is not the door's at once.
  public var nearDuration: Duration = .seconds(4)
  /// By how much the latest reading may be below the earlier ones and not be a falling signal, in dB.
  public var signalTolerance = 4
  /// Readings at a link's beginning whose mean says how it came up.
  public var firstReadings = 2
  /// The time between readings of the signal.
  public var signalInterval: Duration = .milliseconds(300)
  /// Readings older than this say nothing of now.
  public var signalLifetime: Duration = .seconds(2)
  /// How long a reading may take; then it counts as none.
  public var signalPatience: Duration = .seconds(3)
  /// Readings in a row before waiting for the lock's next offer: a background app has ten seconds a wake.
  public var signalReadings = 30
  /// How long after its beginning an approach may still reach the door: who parks and unloads a car takes minutes.
  public var approachWindow: Duration = .seconds(900)
  /// How long the link may be lost in the middle of an approach, as when the lock restarts.
  public var approachInterruption: Duration = .seconds(120)
  /// How long a person's word is good for.
  public var wordLifetime: Duration = .seconds(20)
  /// How old the lock's word that it is locked may be when its owner is asked.
  public var answerLifetime: Duration = .milliseconds(250)
  /// How long after a question the next one may be put.
  public var questionInterval: Duration = .seconds(600)
  /// How long an offer is used after it came; the lock's own limit is longer.
  public var offerLifetime: Duration = .seconds(45)
  /// How long to wait for an offer after a link came up, before reading it: what the lock notifies before the link's MTU
  /// is agreed on arrives cut short or not at all (seen with bluetoothd 5.82), and a read costs one round trip.
  public var offerPatience: Duration = .milliseconds(250)
  /// Reads of the offer in a row that bring none, before waiting for the lock to offer by itself.
  public var offerReads = 4
  /// How long to wait for an answer before asking what became of the command.
  public var answerPatience: Duration = .seconds(15)
  /// Offers in a row that may each cut the wait for an answer short: one is a lock or a system that has restarted.
  public var interruptions = 3
  /// How long after the state could not be stored it is tried again.
  public var storePatience: Duration = .seconds(5)
  /// Times that one opening writes an unlock: more than one only if the lock says that nothing moved.
  public var unlockAttempts = 3

  public init() {}
}
