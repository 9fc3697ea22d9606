import AppLink
import BlueZ
import BusValue
import Testing
import TimeTypes

@testable import BluetoothSystem

/// Seen in schedules: a call that was made while bluetoothd stopped reached the next one.
@Suite("Registrations that nobody counts on")
struct StrayRegistrationsTests {
  /// A peripheral that has asked for all that it registers, without an answer.
  private func asking() -> Desk {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.answersCalls = false
    desk.forget()
    desk.say(.createManager(Desk.central, ManagerCreation(role: .peripheral, restoreIdentifier: "lock")))
    desk.say(.peripheral(Desk.central, .addService(Lock.definition)))
    return desk
  }

  private func registered(_ desk: Desk) -> [ObjectPath] {
    desk.requests.compactMap { if case .registerApplication(let root, _) = $0.request { root } else { nil } }
  }

  /// What the desk asks of bluetoothd about applications, in its order.
  private func asked(_ desk: Desk) -> [String] {
    desk.requests.compactMap {
      switch $0.request {
      case .registerApplication(let root, _): "register \(root)"
      case .unregisterApplication(let root): "unregister \(root)"
      default: nil
      }
    }
  }

  @Test("S8: what the last bluetoothd did not answer, the next one forgets before it is asked anew")
  func strays() throws {
    var desk = asking()
    let first = try #require(registered(desk).first)
    desk.forget()
    desk.handle(.daemon(.vanished))
    desk.appear()
    let second = try #require(registered(desk).first)
    #expect(second != first)
    #expect(asked(desk) == ["unregister \(first)", "register \(second)"])
    desk.forget()
    desk.handle(.daemon(.vanished))
    desk.appear()
    #expect(asked(desk).filter { $0.hasPrefix("unregister") } == ["unregister \(second)"], "each once")
  }

  @Test("S8: a registration that the last bluetoothd has answered is not withdrawn from the next one")
  func answered() throws {
    var desk = asking()
    let call = try #require(desk.lastCall { $0.isServiceRegistration })
    desk.handle(.daemon(.reply(call, .success(.none))))
    desk.forget()
    desk.handle(.daemon(.vanished))
    desk.appear()
    #expect(asked(desk).filter { $0.hasPrefix("unregister") } == [])
  }
}
