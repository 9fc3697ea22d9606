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

  /// An app that reads what it is subscribed to. bluetoothd has not answered yet.
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

  @Test("The echo of a read is not a notification, but another value is")
  func readEcho() throws {
    var desk = Self.reading()
    desk.value([5])
    desk.value([6])
    let call = try #require(readCall(desk))
    desk.handle(.daemon(.reply(call, .success(.bytes([6])))))
    #expect(desk.bodies == ["valueUpdated", "operationCompleted"])
  }

  @Test("C5: values that came before what was read are told before it, and later ones after it")
  func valuesAroundRead() throws {
    for isAnswered in [true, false] {
      var desk = Self.reading()
      for value: UInt8 in 5...8 { desk.value([value]) }
      let failure = BlueZError(name: "org.bluez.Error.Failed", message: "")
      let result: Result<Reply, BlueZError> = isAnswered ? .success(.bytes([7])) : .failure(failure)
      desk.handle(.daemon(.reply(try #require(readCall(desk)), result)))
      let told = desk.events.map { event -> UInt8? in
        if case .valueUpdated(_, _, let value) = event.body { value.first } else { nil }
      }
      #expect(told == (isAnswered ? [5, 6, nil, 8] : [5, 6, 7, 8, nil]))
    }
  }

  @Test(
    "C5: the echo of a read whose reader has gone is no notification for another manager", arguments: [true, false])
  func abandonedReadEcho(_ isManagerDropped: Bool) throws {
    var desk = Desk()
    desk.connectAndSubscribe()
    let reader = ManagerIdentifier(9)
    desk.say(.createManager(reader, ManagerCreation(role: .central)))
    desk.say(.central(reader, .connect(desk.peer, ConnectOptions())))
    desk.say(.central(reader, .perform(desk.peer, OperationIdentifier(4), .discoverServices(nil))))
    desk.say(
      .central(reader, .perform(desk.peer, OperationIdentifier(5), .discoverCharacteristics(nil, service: 0x0a))))
    #expect(desk.bodies.suffix(2) == ["operationCompleted", "operationCompleted"])
    desk.forget()
    desk.answersCalls = false
    desk.say(.central(reader, .perform(desk.peer, OperationIdentifier(6), .readCharacteristic(0x0b))))
    let call = try #require(readCall(desk))
    desk.value([4])
    if isManagerDropped {
      desk.say(.destroyManager(reader))
    } else {
      desk.say(.central(reader, .cancelConnection(desk.peer)))
    }
    desk.forget()
    desk.value([5])
    desk.value([6])
    desk.handle(.daemon(.reply(call, .success(.bytes([6])))))
    #expect(desk.bodies == ["valueUpdated", "valueUpdated"], "4 and 5 are notifications")
    desk.value([6])
    #expect(desk.bodies.count == 3, "and so is what comes after the answer")
  }

  @Test("C5: a value that comes while another program reads the characteristic is told, though our read is tried again")
  func valueBeforeRetry() throws {
    var desk = Self.reading()
    desk.value([5])
    desk.handle(.daemon(.reply(try #require(readCall(desk)), .failure(.inProgress))))
    #expect(desk.bodies == ["valueUpdated"])
  }

  private func readCall(_ desk: Desk) -> CallIdentifier? {
    desk.effects.lazy.compactMap { effect -> CallIdentifier? in
      if case .bluez(.call(let identifier, _, .readValue)) = effect { identifier } else { nil }
    }.first
  }
}
