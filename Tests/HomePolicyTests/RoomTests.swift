import HomePolicy
import Testing
import TimeTypes

/// A room whose signal is as weak as the edge of the range looks like the street, until its owner has measured it.
@Suite("Rooms as weak as the edge of the range") struct RoomTests {
  /// The phone is in a room with this signal, which its owner measures.
  private func measured(_ dBm: Int) -> Phone {
    var phone = Phone()
    phone.settle()
    phone.happens(.roomAsked(.measure))
    phone.signal(dBm, for: 12)
    return phone
  }

  /// The radio is dead for a while; then the phone is carried from a room with this signal to the door.
  private func jam(_ phone: inout Phone, from dBm: Int) {
    phone.losesLink(for: 600)
    for signal in stride(from: dBm, through: -55, by: 3) { phone.signal(signal, for: 1) }
    phone.signal(-55, for: 5)
  }

  @Test(
    "L7: a phone that is carried to the door from a weak room that was measured opens nothing; an arrival still does")
  func weakRoom() {
    var unmeasured = Phone()
    unmeasured.settle()
    jam(&unmeasured, from: -87)
    // Nothing tells this room from the street.
    #expect(unmeasured.unlocks.count == 1)

    var phone = measured(-87)
    #expect(phone.roomOutcomes == [.measured(-87)])
    #expect(phone.disk.roomSignal == -87)
    #expect(phone.policy.weakSignal == -91)
    jam(&phone, from: -87)
    #expect(phone.unlocks.isEmpty && phone.disk.approach == nil)

    phone.happens(.linkDown)
    phone.pass(3600)
    phone.walkHome()
    #expect(phone.unlocks.count == 1)
  }

  @Test(
    "L7: an owner who comes home with a link no weaker than in a measured room is asked at the door, however long the way"
  )
  func asked() {
    var phone = measured(-90)
    phone.happens(.answered(.unknownOperation, bolt: .locked))
    phone.losesLink(for: 3600)
    phone.lockSays = .locked
    let writes = phone.writes.count
    // The lock offers every ten seconds to a phone that has not spoken.
    phone.signal(-89, for: 100)
    #expect(phone.writes.count == writes && phone.questions.isEmpty)
    for signal in stride(from: -88, through: -60, by: 2) { phone.signal(signal, for: 3) }
    phone.signal(-58, for: 5)
    #expect(phone.writes.last?.command == .status)
    #expect(phone.questions == [.noApproach] && phone.unlocks.isEmpty)
  }

  @Test("L7: a phone that stays in a measured room is at home after the time of an approach, and is announced then")
  func stays() {
    var phone = measured(-88)
    phone.losesLink(for: 60)
    let writes = phone.writes.count
    phone.signal(-88, for: 890)
    #expect(phone.writes.count == writes)
    phone.signal(-88, for: 30)
    #expect(phone.writes.count == writes + 1 && phone.writes.last?.command == .status)
  }

  @Test("L7: the weakest of the rooms counts, and a strong one changes nothing") func weakest() {
    var phone = measured(-60)
    #expect(phone.disk.roomSignal == -60 && phone.policy.weakSignal == HomeConfiguration().weakSignal)
    phone.happens(.roomAsked(.measure))
    phone.signal(-88, for: 12)
    phone.happens(.roomAsked(.measure))
    phone.signal(-70, for: 12)
    #expect(phone.roomOutcomes == [.measured(-60), .measured(-88), .measured(-70)])
    #expect(phone.disk.roomSignal == -88 && phone.policy.weakSignal == -92)
  }

  @Test("L7: what was measured outlives the process, and an approach that began before it is judged by it") func kept()
  {
    var phone = Phone()
    phone.settle()
    phone.losesLink(for: 600)
    phone.signal(-87, for: 2)
    #expect(phone.policy.isApproaching)
    phone.happens(.roomAsked(.measure))
    phone.signal(-87, for: 12)
    #expect(!phone.policy.isApproaching)
    phone.relaunch(isLinked: true)
    #expect(phone.policy.weakSignal == -91)
    jam(&phone, from: -87)
    #expect(phone.unlocks.isEmpty)
  }

  @Test("L7: rooms are forgotten on request, and then the default counts again") func forgotten() {
    var phone = measured(-88)
    phone.happens(.roomAsked(.forget))
    #expect(phone.roomOutcomes == [.measured(-88), .forgotten])
    #expect(phone.disk.roomSignal == nil && phone.policy.weakSignal == HomeConfiguration().weakSignal)
    jam(&phone, from: -88)
    #expect(phone.unlocks.count == 1)
  }

  @Test("L7: without a link, with a link that is lost, or without readings, nothing is measured and nothing changes")
  func nothingToMeasure() {
    var phone = Phone()
    phone.settle()
    phone.happens(.linkDown)
    phone.happens(.roomAsked(.measure))
    #expect(phone.roomOutcomes == [.notLinked])
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.happens(.roomAsked(.measure))
    phone.signal(-80, for: 3)
    phone.happens(.linkDown)
    #expect(phone.roomOutcomes == [.notLinked, .linkLost])
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.happens(.roomAsked(.measure))
    phone.signal(nil, for: 21)
    #expect(phone.roomOutcomes == [.notLinked, .linkLost, .noSignal])
    #expect(phone.disk.roomSignal == nil)
  }

  @Test(
    "L7: a few readings that fail do not keep a room from being measured; the level is one that three of four reach")
  func someReadings() {
    var phone = Phone()
    phone.settle()
    phone.happens(.roomAsked(.measure))
    phone.signal(-82, for: 3)
    phone.signal(nil, for: 1)
    phone.signal(-90, for: 2)
    phone.signal(-82, for: 6)
    #expect(phone.roomOutcomes == [.measured(-82)])
  }

  @Test("L7, S7: what the disk refuses is not measured, and counts neither now nor later") func fullDisk() {
    var phone = measured(-70)
    phone.isDiskFull = true
    phone.happens(.roomAsked(.measure))
    phone.signal(-88, for: 12)
    #expect(phone.roomOutcomes.last == .notStored)
    #expect(phone.policy.weakSignal == HomeConfiguration().weakSignal)
    phone.happens(.roomAsked(.forget))
    #expect(phone.roomOutcomes.last == .notStored)
    phone.isDiskFull = false
    phone.signal(-70, for: 6)
    #expect(phone.disk.roomSignal == -70)
  }
}
