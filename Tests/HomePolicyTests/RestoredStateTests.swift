import HomePolicy
import Testing
import TimeTypes

/// The agent's state from a backup, or a copy of it on another machine: whatever it says had happened long ago, or elsewhere.
@Suite("An agent's state from a backup") struct RestoredStateTests {
  /// What was on disk at every moment of a life: at home, leaving, away, coming home, commanding, answered.
  private func moments() -> [HomeState] {
    var phone = Phone()
    var states = [phone.disk]
    func note() { if states.last != phone.disk { states.append(phone.disk) } }
    phone.settle()
    note()
    phone.look([(-58, 5), (-70, 5), (-80, 5), (-88, 5), (-92, 4)])
    note()
    phone.happens(.linkDown)
    note()
    phone.pass(3600)
    phone.happens(.linkUp)
    note()
    phone.happens(.offerReceived)
    for dBm in stride(from: -93, through: -60, by: 3) {
      phone.signal(dBm, for: 1)
      note()
    }
    phone.happens(.writeFailed)
    note()
    phone.happens(.offerReceived)
    phone.happens(.answered(.failed, bolt: .between))
    note()
    phone.happens(.offerReceived)
    phone.happens(.answered(.done, bolt: .unlocked))
    note()
    phone.happens(.unlockAsked)
    phone.happens(.offerReceived)
    note()
    return states
  }

  enum Restoration: CaseIterable {
    case aDayLater, afterReboot, elsewhere, withoutCalendar
  }

  @Test("attack 34: an older state that is put back beside the door opens nothing", arguments: Restoration.allCases)
  func putBack(_ how: Restoration) {
    let states = moments()
    #expect(states.contains { $0.approach != nil && $0.hasLeft == true })
    #expect(states.contains { $0.opening?.isWritten == true } && states.contains { $0.opening?.because == .word })
    for (number, state) in states.enumerated() {
      for isLinked in [true, false] {
        var phone = Phone()
        phone.disk = state
        switch how {
        case .aDayLater: phone.pass(86_400)
        case .afterReboot: phone.reboot(offFor: 60)
        case .elsewhere: phone.reboot(offFor: 86_400)
        case .withoutCalendar: phone.reboot(offFor: 86_400, calendarStep: -86_400 * 365)
        }
        phone.relaunch(isLinked: isLinked)
        stays(beside: &phone, isLinked: isLinked)
        #expect(phone.unlocks.isEmpty, "moment \(number), linked \(isLinked)")
      }
    }
  }

  /// The phone lies near the door, whose lock knows nothing of its operations. Its radio fails again and again.
  private func stays(beside phone: inout Phone, isLinked: Bool) {
    for round in 0..<4 {
      if round > 0 || !isLinked { phone.happens(.linkUp) }
      phone.lockSays = .locked
      phone.happens(.offerReceived)
      for _ in 0..<20 {
        if let last = phone.writes.last, last.command == .status, last.operation != 0 {
          phone.happens(.answered(.unknownOperation, bolt: .locked))
          phone.happens(.offerReceived)
        }
        phone.signal(-60, for: 3)
      }
      phone.happens(.linkDown)
      phone.pass(round == 0 ? 2 : 600)
    }
  }
}
