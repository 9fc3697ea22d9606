import AppLink
import BlueZ
import BluetoothTypes
import Testing
import TimeTypes

@testable import BluetoothSystem

/// When an app in the background is awake, and for how long.
@Suite("Wakes and their budgets")
struct WakeBudgetTests {
  @Test("F1, F4: without a background mode an app is suspended after leaving and learns on return, in order")
  func foregroundOnly() {
    var desk = Desk.asleep(modes: [], restoreIdentifier: nil)
    desk.linkDown()
    #expect(desk.events.isEmpty)
    #expect(desk.state == .suspended)
    desk.handle(.control(.openApp(bundleIdentifier: Desk.bundle), AnswerToken(0)))
    #expect(desk.bodies == ["disconnected"])
  }

  @Test("F1: without a background mode neither a chatty peripheral nor the app's own requests keep it awake")
  func chattyForegroundOnly() {
    var desk = Desk(modes: [])
    desk.connectAndSubscribe(nil)
    desk.leave()
    desk.settle()
    desk.forget()
    for tenth in 0..<49 {
      desk.pass(.milliseconds(100))
      desk.value([UInt8(tenth)])
      if tenth % 2 == 0 { desk.settle() }
      desk.say(
        .central(
          Desk.central, .perform(desk.peer, OperationIdentifier(UInt64(100 + tenth)), .readCharacteristic(0x0b))))
    }
    #expect(desk.state == .background)
    desk.pass(.milliseconds(100))
    #expect(desk.state == .suspended, "5 s after it was left, whatever is under way")
    let told = desk.events.count
    desk.value([99])
    desk.pass(.seconds(600))
    #expect(desk.state == .suspended)
    #expect(desk.events.count == told)
    #expect(desk.recorded(.appOverran) == 0, "it had no budget to overrun")
  }

  @Test("W2: what an app is told while it does not handle the first event does not prolong its budget")
  func notProlonged() {
    var desk = Desk.asleep()
    for _ in 0..<9 {
      desk.value([1])
      desk.pass(.seconds(1))
    }
    #expect(desk.state == .background)
    desk.pass(.seconds(1))
    #expect(desk.state == .suspended)
    #expect(desk.recorded(.appOverran) == 1)
  }

  /// Tells the app something every 100 ms. It handles each event after this time.
  private func stream(_ desk: inout Desk, handling: Duration, for length: Duration) {
    let end = desk.now + length
    while desk.now < end, desk.state == .background {
      desk.value([1])
      desk.pass(handling)
      if desk.state == .background { desk.settle() }
      desk.pass(.milliseconds(100) - handling)
    }
  }

  @Test("W2: a stream of values that an app handles quickly is no overrun, all day long")
  func quickStream() {
    var desk = Desk.asleep()
    desk.value([1])
    stream(&desk, handling: .milliseconds(75), for: .seconds(250))
    #expect(desk.state == .background)
    #expect(desk.recorded(.appOverran) == 0)
  }

  @Test("W2: an app that never rests is suspended for a while, though it keeps up, and in the end killed")
  func restless() {
    var desk = Desk.asleep()
    for _ in 0..<3 {
      desk.value([1])
      let began = desk.now
      // Told the next before it has handled the last.
      while desk.state == .background, desk.now - began < .seconds(100), !desk.isBeingKilled {
        let last = desk.lastSequence
        desk.value([1])
        desk.pass(.milliseconds(250))
        desk.say(.handled(through: EventSequence(last)))
      }
      #expect(desk.now - began >= .seconds(55))
      #expect(desk.now - began < .seconds(62))
      guard !desk.isBeingKilled else { break }
      #expect(desk.state == .suspended)
      desk.value([2])
      desk.pass(.seconds(9))
      #expect(desk.state == .suspended, "it is not woken at once")
      desk.pass(.seconds(2))
      #expect(desk.state == .background, "and then it is told what has waited")
      desk.settle()
    }
    #expect(desk.recorded(.appOverran) == 3)
    #expect(desk.effects.contains { if case .kill = $0 { true } else { false } })
  }

  @Test("W2: an app's own wake budget counts before the machine's", arguments: [nil, Duration.seconds(30)])
  func ownBudget(own: Duration?) {
    var configuration = BluetoothSystem.Configuration()
    configuration.wakeBudget = .seconds(4)
    var desk = Desk(configuration: configuration, wakeBudget: own)
    desk.connectAndSubscribe()
    desk.fallAsleep()
    desk.value([1])
    desk.pass((own ?? .seconds(4)) - .milliseconds(1))
    #expect(desk.state == .background)
    desk.pass(.milliseconds(1))
    #expect(desk.state == .suspended)
  }

  @Test("B1: an app with the mode is woken, and suspended again when it has handled the event")
  func woken() {
    var desk = Desk.asleep()
    desk.value([1])
    #expect(desk.bodies == ["valueUpdated"])
    #expect(desk.state == .background)
    desk.settle()
    desk.pass(.milliseconds(9999))
    #expect(desk.state == .background, "its timers and tasks may be at work for what it was told")
    desk.pass(.milliseconds(1))
    #expect(desk.state == .suspended)
    #expect(desk.recorded(.appOverran) == 0)
  }

  @Test("W2: each event that an app is told while it rests gives it the whole time again")
  func renewedBudget() {
    var desk = Desk.asleep()
    for _ in 0..<5 {
      desk.value([1])
      desk.settle()
      desk.pass(.seconds(9))
    }
    #expect(desk.state == .background)
    desk.pass(.seconds(1))
    #expect(desk.state == .suspended)
    #expect(desk.recorded(.appOverran) == 0)
  }

  @Test("W2: what an app says does not prolong its time, and an answer that comes later wakes it")
  func waitsForAnswer() throws {
    var desk = Desk.asleep()
    desk.answersCalls = false
    desk.value([1])
    desk.settle()
    desk.pass(.milliseconds(9500))
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(7), .readCharacteristic(0x0b))))
    desk.pass(.milliseconds(500))
    #expect(desk.state == .suspended)
    #expect(desk.recorded(.appOverran) == 0)
    let call = try #require(desk.lastCall(.readValue(offset: 0)))
    desk.forget()
    desk.handle(.daemon(.reply(call, .success(.bytes([7])))))
    #expect(desk.state == .background)
    #expect(desk.bodies == ["operationCompleted"])
  }

  @Test("W2: an app that never finishes is suspended when its budget is spent, and killed when it does so again")
  func overrun() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.fallAsleep()
    for _ in 0..<2 {
      desk.value([1])
      desk.pass(.seconds(11))
      #expect(desk.state == .suspended)
    }
    desk.forget()
    desk.value([1])
    desk.pass(.seconds(11))
    #expect(desk.effects.contains { if case .kill = $0 { true } else { false } })
    desk.die()
    #expect(desk.launches.isEmpty)
    desk.value([2])
    #expect(desk.launches.count == 1, "its preserved state survives")
  }

  @Test("W2 C5: the end of a write without response wakes no app that is not waiting for room", arguments: [1, 32])
  func writeCommand(count: Int) {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.handle(
      .daemon(
        .signal(
          .propertiesChanged(
            path: Desk.characteristicPath, interface: InterfaceName.gattCharacteristic,
            changed: ["Flags": .strings(["write-without-response", "notify"])], invalidated: []))))
    desk.leave()
    desk.settle()
    desk.answersCalls = false
    desk.pass(.seconds(9))
    for number in 1...count {
      desk.say(
        .central(
          Desk.central,
          .perform(
            desk.peer, OperationIdentifier(UInt64(100 + number)),
            .writeCharacteristic(0x0b, value: [1], withResponse: false))))
    }
    desk.pass(.seconds(2))
    #expect(desk.state == .suspended)
    for _ in 0..<count {
      guard let call = desk.lastCall(where: { if case .writeValue = $0 { true } else { false } }) else { break }
      desk.forget()
      desk.handle(.daemon(.reply(call, .success(.none))))
    }
    #expect(desk.state == (count < 32 ? .suspended : .background))
    desk.forget()
    desk.value([7])
    #expect(desk.bodies.contains("valueUpdated"), "and is told with the next event")
  }
}
