import AppLink
import BlueZ
import BluetoothTypes
import Testing

@testable import BluetoothSystem

/// bluetoothd shows what it reads, and what a peripheral sends, in the same way. Some values wait until it is known what they are.
@Suite("Values that wait for an answer")
struct HeldValueTests {
  private static func notified(_ desk: Desk) -> [[UInt8]] {
    desk.events.compactMap { if case .valueUpdated(_, _, let value) = $0.body { value } else { nil } }
  }

  /// A subscribed app whose read is never answered.
  private static func reading() -> Desk {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.forget()
    desk.answersCalls = false
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(4), .readCharacteristic(0x0b))))
    return desk
  }

  private static func comesBack(_ desk: inout Desk) {
    desk.answersCalls = true
    desk.say(.central(Desk.central, .connect(desk.peer, ConnectOptions())))
    desk.linkUp()
    desk.say(
      .central(Desk.central, .perform(desk.peer, OperationIdentifier(5), .setNotify(true, characteristic: 0x0b))))
    desk.forget()
  }

  @Test("C5: after a read that a refused pairing left unanswered, the values of the next link are told at once")
  func unansweredRead() {
    var desk = Self.reading()
    desk.linkDown()
    Self.comesBack(&desk)
    for number in 0..<40 as Range<UInt8> { desk.value([number]) }
    #expect(Self.notified(desk) == (0..<40).map { [$0] })
  }

  @Test("C5: so it is after a read whose reader has gone before the link ended, and what was held is told first")
  func abandonedRead() {
    var desk = Self.reading()
    let other = ManagerIdentifier(9)
    desk.say(.createManager(other, ManagerCreation(role: .central)))
    desk.say(.central(other, .connect(desk.peer, ConnectOptions())))
    desk.answersCalls = true
    desk.say(.central(other, .perform(desk.peer, OperationIdentifier(6), .discoverServices(nil))))
    desk.say(.central(other, .perform(desk.peer, OperationIdentifier(7), .discoverCharacteristics(nil, service: 0x0a))))
    desk.say(.central(Desk.central, .cancelConnection(desk.peer)))
    desk.say(.central(other, .perform(desk.peer, OperationIdentifier(8), .setNotify(true, characteristic: 0x0b))))
    desk.forget()
    desk.value([7])
    #expect(Self.notified(desk).isEmpty, "it may be the read's echo")
    desk.linkDown()
    #expect(desk.bodies == ["valueUpdated", "disconnected"])
    desk.say(.central(other, .connect(desk.peer, ConnectOptions())))
    desk.linkUp()
    desk.say(.central(other, .perform(desk.peer, OperationIdentifier(9), .setNotify(true, characteristic: 0x0b))))
    desk.forget()
    desk.value([8])
    #expect(Self.notified(desk) == [[8]])
  }

  @Test("C5: a value that is held for a read is told before the loss of its link")
  func heldAtLoss() {
    var desk = Self.reading()
    desk.value([7])
    desk.linkDown()
    #expect(desk.bodies == ["valueUpdated", "operationCompleted", "disconnected"])
  }

  @Test("C5: a value that comes before the answer to a subscription is told after it", arguments: [true, false])
  func beforeTheAnswer(isAccepted: Bool) throws {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral("central")
    desk.connect()
    desk.linkUp()
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(1), .discoverServices(nil))))
    desk.say(
      .central(Desk.central, .perform(desk.peer, OperationIdentifier(2), .discoverCharacteristics(nil, service: 0x0a))))
    desk.answersCalls = false
    desk.say(
      .central(Desk.central, .perform(desk.peer, OperationIdentifier(3), .setNotify(true, characteristic: 0x0b))))
    let call = try #require(desk.lastCall(.startNotify))
    desk.forget()
    desk.value([1])
    desk.value([2])
    #expect(desk.bodies.isEmpty)
    desk.handle(.daemon(.reply(call, isAccepted ? .success(.none) : .failure(.failed("Refused")))))
    #expect(desk.bodies == ["operationCompleted"] + (isAccepted ? ["valueUpdated", "valueUpdated"] : []))
    #expect(Self.notified(desk) == (isAccepted ? [[1], [2]] : []))
  }
}
