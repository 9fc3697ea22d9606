/// What an owner can set, and the numbers that the policy uses.
///
/// Signals are in dBm as controllers report them (Bluetooth Core, Vol 4, Part E, 7.5.4), with an accuracy of about 6
/// dB. The defaults fit a lock that is heard at -59 dBm at one metre and at -94 dBm at the edge of its range.
/// docs/arrival.md has the trials by which they were chosen.
package struct HomeConfiguration: Sendable, Hashable {
  /// The shortest loss of the link after which its return can begin an approach. A link at the edge of its range
  /// comes and goes in seconds; a lock takes 10 s to lock behind its owner.
  package var awayDuration: Duration = .seconds(5)
  /// The strongest signal with which a link can come up at the edge of its range, in dBm. If it is stronger, the
  /// phone was here before the link was, and its return is not an approach.
  package var weakSignal = -86
  /// How much weaker than in the weakest room that was measured a link must come up, in dB: a phone that lies there is a few
  /// decibels weaker in another corner, or behind a body.
  package var roomMargin = 4
  /// How many readings of the signal measure a room.
  package var roomReadings = 33
  /// The fewest readings that suffice if there is no time for more.
  package var leastRoomReadings = 11
  /// The longest time for these readings.
  package var roomPatience: Duration = .seconds(20)
  /// How much weaker than `weakSignal` a link must come up, in dB, to open a bolt that was locked at home.
  package var edgeMargin = 4
  /// How much a signal must rise above its beginning, in dB, to show that its phone is moving.
  package var risingMargin = 4
  /// How soon it must have risen to open a bolt that was locked at home: a person asleep in the farthest room does
  /// not move.
  package var risingDuration: Duration = .seconds(30)
  /// How long after its beginning such an approach may reach the door.
  package var wholeWindow: Duration = .seconds(180)
  /// The strongest signal at which a link can be lost because its phone is carried away, in dBm.
  package var fadedSignal = -88
  /// How much stronger the signal must have been before that, in dB.
  package var fadingMargin = 12
  /// The longest time from that stronger signal to the loss of the link: a person who leaves does not stop.
  package var fadingDuration: Duration = .seconds(90)
  /// The strongest last reading of such a link, in dBm: whoever walks away is heard until nothing can be heard.
  package var lastSignal = -90
  /// How long a level must last to be that of the phone at the door.
  package var doorDuration: Duration = .milliseconds(1800)
  /// How much weaker than the door's level a phone that is still at the door may be heard, in dB: at twice the
  /// distance, or behind a body.
  package var doorTolerance = 6
  /// The longest time from the door to the loss of the link of a person who leaves.
  package var leavingDuration: Duration = .seconds(120)
  /// After a pause of this length the phone watches for another leaving. While somebody may be leaving, the lock offers every 10 s.
  package var lookPause: Duration = .seconds(30)
  /// How much weaker than when it left a returning phone at the door may be heard, in dB. That is the signal at three
  /// to four times the distance. Where a phone and a lock hear each other well, the signal is strong both at the door
  /// and in the street.
  package var returnMargin = 12
  /// A signal this far above `nearSignal` suffices in any case, in dB. A phone may have lain beside the lock when the
  /// door opened, and come back in a bag.
  package var returnLimit = 10
  /// The weakest signal that counts as being near the door, in dBm.
  package var nearSignal = -75
  /// How far above `nearSignal` a signal must be to count as being at the door at once, in dB. In between, it must
  /// stay for `nearDuration`, which the signal of a person who walks past at some distance does not do.
  package var doorMargin = 5
  /// How long a signal must stay near if it is not strong enough to count at once.
  package var nearDuration: Duration = .seconds(4)
  /// How far the latest reading may be below the earlier ones without counting as a falling signal, in dB.
  package var signalTolerance = 4
  /// How much the signal of a phone that was seen to leave must have risen since its link came up, in dB, to count as
  /// being at the door, if the link did not come up at the edge. However fast the phone came, it has come nearer; a
  /// relay that is switched on beside it does not come nearer.
  package var returnRise = 8
  /// How many readings at a link's beginning are averaged to tell how it came up.
  package var firstReadings = 2
  /// The time between readings of the signal.
  package var signalInterval: Duration = .milliseconds(300)
  /// Older readings say nothing about the present.
  package var signalLifetime: Duration = .seconds(2)
  /// How long a reading may take. After that it counts as failed.
  package var signalPatience: Duration = .seconds(3)
  /// Readings in a row before waiting for the lock's next offer: a background app has ten seconds per wake.
  package var signalReadings = 30
  /// How long after its beginning an approach may still reach the door: parking and unloading a car takes minutes.
  package var approachWindow: Duration = .seconds(900)
  /// How long the link may be lost during an approach, for example because the lock restarts.
  package var approachInterruption: Duration = .seconds(120)
  /// How long after a person's command they are answered, if nothing could be written for it.
  package var wordLifetime: Duration = .seconds(20)
  /// How long before its end a person's command is written at the latest. Its person is answered at the latest when the lock would not
  /// take it any more, and a system gives this app 45 s for an answer.
  package var lastWriting: Duration = .seconds(8)
  /// How long a bolt may turn before its lock answers. What was answered as failed must not happen afterwards.
  package var turnDuration: Duration = .seconds(5)
  /// How long the lock may still answer a command that was taken back after it was written.
  package var takenBackPatience: Duration = .seconds(3)
  /// How old the lock's report that it is locked may be when its owner is asked. It outlives the next reading of the signal, which
  /// shows that the phone is near: otherwise the lock would be asked twice.
  package var answerLifetime: Duration = .milliseconds(350)
  /// The shortest time between two questions.
  package var questionInterval: Duration = .seconds(600)
  /// How long an offer is used after it arrived. The lock's own limit is longer.
  package var offerLifetime: Duration = .seconds(45)
  /// How long it is used for a command that moves the bolt. The lock makes an offer every 10 s for a phone on its way.
  package var movingOfferLifetime: Duration = .seconds(11)
  /// After this time the lock does not take such a command any more.
  package var movingOfferLimit: Duration = .seconds(15)
  /// How long to wait for an offer after a link came up, before reading it: the lock sends its offer again and again until a
  /// command arrives, and with the slowest usual connection interval of 100 ms the first is heard after half a second.
  package var offerPatience: Duration = .seconds(1)
  /// How soon after an answer the offer for the next command comes.
  package var spareOfferPatience: Duration = .milliseconds(250)
  /// How long after a write the lock's repeated offer shows that it has not received the command. An earlier one may
  /// have been on its way already, and shows nothing.
  package var writingPatience: Duration = .milliseconds(200)
  /// How many times a command is written again because the lock repeats its offer.
  package var rewrites = 4
  /// How long to wait for an answer before a command is written again, this time to be confirmed. A bolt takes about a
  /// second, and a system that has nothing to tell suspends the phone's app after two.
  package var confirmationPatience: Duration = .milliseconds(1800)
  /// How many reads of the offer in a row may fail before waiting for the lock to offer by itself.
  package var offerReads = 4
  /// How long to wait for an answer before asking about the command's outcome.
  package var answerPatience: Duration = .seconds(15)
  /// How many offers in a row may each cut short the wait for an answer. One such offer means that a lock or a system
  /// has restarted.
  package var interruptions = 3
  /// How long after a failure to store the state it is tried again.
  package var storePatience: Duration = .seconds(5)
  /// How many times one opening may write an unlock. It writes another only if the lock says that nothing moved.
  package var unlockAttempts = 3
  /// The pauses before further unlocks for an approach, after `unlockAttempts` have failed: its owner stands at a
  /// jammed bolt. After the last one, the owner is asked. A person's command gets no further unlocks: that person sees
  /// the door, and can repeat the command.
  package var jamPauses: [Duration] = [.seconds(5), .seconds(15), .seconds(30)]
  /// The longest time between two readings of the signal during these pauses. A reading keeps the app awake: its system
  /// suspends it ten seconds after it was last told something, and its pauses would stop with it.
  package var jamLookPause: Duration = .seconds(5)

  /// After this many refused writes in a row on one link, the lock has turned this phone away. One refusal may be about
  /// an offer that was another phone's, or older than the lock's restart, so the offer is read for the next write.
  /// After more refusals, a lock makes strangers wait. On the following links, one refusal suffices.
  package var refusedWrites = 2
  /// How long a phone that was turned away waits before it asks for the next link, doubled each time. The lock makes strangers
  /// wait for less, so that no link meets a lock that would not listen.
  package var firstRefusalPause: Duration = .seconds(60)
  /// The longest of these pauses. A guest whose grant counts again, at a door that they have not left, waits no longer
  /// than this. It costs the lock one link of a second and one record an hour.
  package var longestRefusalPause: Duration = .seconds(3600)
  /// How soon a lock within reach is linked at the latest after the system began to look for it, on a busy radio. If it
  /// takes longer, the two were apart.
  package var apartDuration: Duration = .seconds(60)
  /// How long a person who asks waits for a link of a phone that was turned away, and how long such a link may be without an offer.
  /// A system suspends an app in the background after ten seconds, and then nobody is answered.
  package var linkPatience: Duration = .seconds(6)

  package init() {}

  /// The strongest signal with which a link can come up at the edge of its range, in dBm, in a home whose weakest room has this
  /// one.
  func weakSignal(weakestRoom: Int?) -> Int { min(weakSignal, weakestRoom.map { $0 - roomMargin } ?? weakSignal) }

  /// From now on no signal counts as being near the door, so that nothing but a person's command opens it: a relay, which
  /// makes the phone near without its owner's doing, opens nothing.
  package mutating func opensByCommandAlone() { nearSignal = Int(Int8.max) }
}
