import HomePolicy
import Testing
import TimeTypes

/// Somebody forwards the radio between the phone, which is far away, and the door.
@Suite("Relays") struct RelayTests {
  private func away(_ configuration: HomeConfiguration = HomeConfiguration()) -> Phone {
    var phone = Phone(configuration)
    phone.settle()
    phone.happens(.linkDown)
    phone.pass(3600)
    return phone
  }

  @Test(
    "attack 13: a relay that is switched on beside the phone opens nothing, however strong the signal and however long")
  func switchedOn() {
    for dBm in [-40, -55, -70, -85] {
      var phone = away()
      phone.happens(.linkUp)
      phone.happens(.offerReceived)
      phone.signal(dBm, for: 120)
      #expect(phone.unlocks.isEmpty, "\(dBm) dBm")
    }
  }

  @Test("attack 13: a relay that comes and goes, or comes nearer while it is already strong, opens nothing")
  func trembling() {
    var phone = away()
    for _ in 0..<50 {
      phone.happens(.linkUp)
      phone.happens(.offerReceived)
      phone.signal(-70, for: 3)
      phone.happens(.linkDown)
      phone.pass(30)
    }
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    for dBm in stride(from: -84, through: -50, by: 2) { phone.signal(dBm, for: 1) }
    #expect(phone.unlocks.isEmpty)
  }

  @Test(
    "attack 13: nor does one beside a phone that saw itself leave: it does not come nearer, and its owner is asked",
    arguments: [-40, -55, -65, -70])
  func switchedOnBesideWhoLeft(dBm: Int) {
    var phone = Phone()
    phone.settle()
    phone.look([(-58, 5), (-70, 5), (-80, 5), (-88, 5), (-92, 4)])
    phone.happens(.linkDown)
    phone.pass(3600)
    #expect(phone.disk.hasLeft == true)
    phone.happens(.linkUp)
    phone.lockSays = .locked
    phone.happens(.offerReceived)
    // A body turns, a hand moves.
    for step in 0..<60 { phone.signal(dBm + [0, 4, -2, 2][step % 4], for: 2) }
    #expect(phone.unlocks.isEmpty)
    #expect(phone.questions == [.noApproach])
    // Switched on again and again.
    for _ in 0..<20 {
      phone.happens(.linkDown)
      phone.pass(60)
      phone.happens(.linkUp)
      phone.happens(.offerReceived)
      phone.signal(dBm, for: 5)
    }
    #expect(phone.unlocks.isEmpty)
  }

  @Test(
    "attack 14: a relay that imitates a whole approach is not told from one; what bounds it is one opening, within minutes"
  )
  func imitated() {
    var phone = away()
    phone.walkHome()
    phone.signal(-55, for: 10)
    #expect(phone.unlocks.count == 1)
    phone.happens(.answered(.done, bolt: .unlocked))
    phone.happens(.offerReceived)
    phone.signal(-50, for: 600)
    #expect(Set(phone.unlocks).count == 1)
    // One that takes longer than a person does is none.
    var patient = away()
    patient.happens(.linkUp)
    patient.happens(.offerReceived)
    for dBm in stride(from: -93, through: -60, by: 1) { patient.signal(dBm, for: 60) }
    #expect(patient.unlocks.isEmpty)
  }

  @Test(
    "attacks 13, 14: a phone that opens by command alone opens nothing for any relay, and still on its owner's word")
  func commandOnly() {
    var configuration = HomeConfiguration()
    configuration.opensByCommandAlone()
    var phone = away(configuration)
    phone.walkHome()
    phone.signal(-20, for: 60)
    #expect(phone.unlocks.isEmpty && phone.questions.isEmpty)
    phone.happens(.unlockAsked)
    phone.happens(.offerReceived)
    #expect(phone.unlocks.count == 1)
  }
}
