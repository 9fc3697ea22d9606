import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import Testing
import TimeTypes

@testable import BluetoothSystem

@Suite("Managers that come and go")
struct ManagerLifeTests {
  @Test("C2: a manager that gets the number of one that is gone hears nothing of its operations")
  func operationsOfAnEarlierManager() {
    var desk = Desk()
    desk.connectAndSubscribe(nil)
    desk.loseAndAskAgain()
    desk.linkBegins()
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(7), .discoverServices(nil))))
    desk.answersCalls = false
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(8), .readRSSI)))
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(9), .openChannel(psm: 0x80))))
    desk.say(.destroyManager(Desk.central))
    desk.createCentral(nil)
    desk.forget()
    desk.linkDown()
    desk.linkUp()
    desk.pass(.seconds(60))
    #expect(!desk.bodies.contains("operationCompleted"), "\(desk.bodies)")
  }

  @Test("S5: a manager that an app made just before it was suspended hears its state once the app is resumed")
  func madeBeforeSuspension() {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.fallAsleep()
    #expect(desk.state == .suspended)
    desk.forget()
    desk.createCentral()
    let order = desk.effects.compactMap { effect -> String? in
      switch effect {
      case .resume: "resume"
      case .event(let event, _): event.body.kind.rawValue
      default: nil
      }
    }
    #expect(order == ["resume", "stateChanged"])
  }
}
