import HomePolicy
import Testing
import TimeTypes

@Suite("How weak the link gets at home") struct LearnedHomeTests {
  /// Hours at home in places of these strengths; then away.
  private func lived(at signals: [Int], _ configuration: HomeConfiguration = HomeConfiguration()) -> Phone {
    var phone = Phone(configuration)
    phone.settle()
    for dBm in signals {
      phone.pass(3600)
      phone.call()
      phone.signal(dBm, for: 9)
    }
    phone.pass(3600)
    phone.call()
    phone.signal(-60, for: 9)
    phone.happens(.linkDown)
    phone.pass(3600)
    return phone
  }

  private func comeHome(_ phone: inout Phone, from dBm: Int) {
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.lockSays = .locked
    for (second, level) in stride(from: dBm, through: -58, by: 2).enumerated() {
      // So does the lock where a phone says at a locked door that it is here.
      if second % 10 == 9, phone.writes.last?.command == .status { phone.call() }
      phone.signal(level, for: 1)
    }
    phone.signal(-58, for: 5)
  }

  @Test("L7, A1: a link that comes up as weak as in a room of this home is no approach; a weaker one is")
  func weakRoom() {
    for (first, opens) in [(-86, false), (-92, true)] {
      var phone = lived(at: [-60, -85, -70])
      phone.relaunch(isLinked: false)
      comeHome(&phone, from: first)
      #expect(phone.unlocks.isEmpty != opens, "\(first)")
      #expect(phone.questions == (opens ? [] : [.asWeakAtHome]))
    }
    var strong = lived(at: [-60, -72, -70])
    comeHome(&strong, from: -86)
    #expect(strong.unlocks.count == 1, "in a smaller home it is")
  }

  @Test("L7, A1: in a home that reaches to the edge of the range nothing is an approach, and the agent asks")
  func homeAtEdge() {
    var phone = lived(at: [-60, -91, -70])
    #expect(phone.policy.isHomeAtEdge)
    comeHome(&phone, from: -95)
    #expect(phone.unlocks.isEmpty)
    #expect(phone.questions == [.asWeakAtHome])
    phone.happens(.unlockAsked)
    phone.signal(-58, for: 1)
    #expect(phone.writes.last?.command == .unlock(.word))
  }

  @Test("L7: where the owner has said what the edge is, nothing is learned") func explicit() {
    var configuration = HomeConfiguration()
    configuration.learnsHome = false
    var phone = lived(at: [-60, -91, -70], configuration)
    comeHome(&phone, from: -93)
    #expect(phone.unlocks.count == 1)
  }

  @Test("L2: a reading on the way out is none of the home's") func onTheWayOut() {
    var phone = lived(at: [-60])
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.signal(-60, for: 5)
    phone.happens(.answered(.unknownOperation, bolt: .unlocked))
    phone.happens(.offerReceived)
    phone.pass(3600)
    phone.call()
    phone.signal(-91, for: 9)
    phone.happens(.linkDown)
    phone.pass(3600)
    comeHome(&phone, from: -93)
    #expect(!phone.policy.isHomeAtEdge)
    #expect(phone.unlocks.count == 1)
  }

  @Test("L7, A1: what looked like an approach and stayed about without coming to the door was made at home")
  func idleApproach() {
    var phone = lived(at: [-60])
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.signal(-92, for: 10)
    phone.pass(1000)
    phone.call()
    phone.signal(-85, for: 5)
    #expect(phone.policy.isHomeAtEdge)
    // Who only passes by is gone by then.
    var passer = lived(at: [-60])
    passer.happens(.linkUp)
    passer.happens(.offerReceived)
    passer.signal(-92, for: 10)
    passer.happens(.linkDown)
    passer.pass(1000)
    passer.happens(.linkUp)
    #expect(!passer.policy.isHomeAtEdge)
  }

  @Test("L7: a weak place that is not stayed in any more is forgotten after a month") func forgotten() {
    var phone = lived(at: [-91])
    phone.happens(.linkUp)
    phone.happens(.offerReceived)
    phone.signal(-60, for: 5)
    phone.happens(.answered(.unknownOperation, bolt: .unlocked))
    phone.happens(.offerReceived)
    for day in 0..<40 {
      phone.pass(86400)
      phone.call()
      phone.signal(-70, for: 9)
      if day == 10 { #expect(phone.policy.isHomeAtEdge) }
    }
    #expect(!phone.policy.isHomeAtEdge)
    #expect(phone.policy.nextDeadline == nil, "the phone rests between the lock's calls")
  }
}
