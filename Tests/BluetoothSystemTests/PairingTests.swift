import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import Testing
import TimeTypes

@testable import BluetoothSystem

@Suite("Pairing that asks the user")
struct PairingTests {
  private static let comparison = Callback.requestConfirmation(device: Desk.devicePath, passkey: 123_456)

  private func ask(_ desk: inout Desk, _ callback: Callback, _ number: UInt64 = 1) {
    desk.handle(.daemon(.callback(CallbackIdentifier(number), path: BluetoothSystem.agentPath, callback)))
  }

  private func attend(_ desk: inout Desk) { desk.handle(.control(.attendPairings, AnswerToken(77))) }

  private func replies(_ desk: Desk, to token: UInt64) -> [Result<SystemStatus, AppLinkError>] {
    desk.effects.compactMap { effect in
      if case .controlReply(AnswerToken(token), let result) = effect { result } else { nil }
    }
  }

  private func capabilities(_ desk: Desk) -> [AgentCapability] {
    desk.requests.compactMap { if case .registerAgent(_, let capability) = $0.request { capability } else { nil } }
  }

  /// A device that an app waits for, and a user who attends.
  private func attended() -> Desk {
    var desk = Desk()
    desk.appear(bonded: false)
    desk.open()
    desk.createCentral()
    desk.connect()
    // The first is answered when the agent can ask. The second waits.
    attend(&desk)
    attend(&desk)
    desk.forget()
    return desk
  }

  @Test("Without a user numbers are not compared, also not with a device that an app asked for")
  func nobodyThere() {
    var desk = Desk()
    desk.appear(bonded: false)
    desk.open()
    desk.createCentral()
    desk.connect()
    desk.forget()
    ask(&desk, Self.comparison)
    ask(&desk, .requestPasskey(device: Desk.devicePath), 2)
    ask(&desk, .requestPinCode(device: Desk.devicePath), 3)
    #expect(desk.answers == [.failure(.rejected), .failure(.rejected), .failure(.rejected)])
  }

  @Test("The agent can ask while a user attends, and for no longer")
  func capability() {
    var desk = Desk()
    desk.appear()
    attend(&desk)
    #expect(capabilities(desk) == [.noInputNoOutput, .keyboardDisplay])
    desk.pass(.seconds(29))
    #expect(replies(desk, to: 77).count == 1, "when the agent can ask")
    attend(&desk)
    desk.pass(.seconds(29))
    #expect(capabilities(desk).count == 2)
    desk.pass(.seconds(2))
    #expect(capabilities(desk) == [.noInputNoOutput, .keyboardDisplay, .noInputNoOutput])
    #expect(desk.system.nextDeadline == nil)
  }

  @Test("An adapter that is not pairable any more, since the agent made way for another, becomes pairable again, once")
  func staysPairable() {
    var desk = Desk()
    desk.appear()
    func lose(_ desk: inout Desk) -> Int {
      desk.forget()
      desk.handle(
        .daemon(
          .signal(
            .propertiesChanged(
              path: WellKnown.firstAdapter, interface: InterfaceName.adapter, changed: ["Pairable": .bool(false)],
              invalidated: []))))
      return desk.requests.count {
        $0.request == .setProperty(interface: InterfaceName.adapter, name: "Pairable", value: .bool(true))
      }
    }
    #expect(lose(&desk) == 0, "somebody else's wish")
    attend(&desk)
    #expect(lose(&desk) == 1)
    #expect(lose(&desk) == 0)
  }

  @Test("The user's yes is a yes, the user's no a no", arguments: [true, false])
  func answered(isAccepted: Bool) throws {
    var desk = attended()
    ask(&desk, Self.comparison)
    #expect(desk.answers.isEmpty)
    let question = try #require(try replies(desk, to: 77).first?.get().pairings.first)
    #expect(question.kind == .compare)
    #expect(question.passkey == 123_456)
    #expect(question.address == Desk.address.description)
    desk.handle(
      .control(.answerPairing(PairingAnswer(question: question.identifier, isAccepted: isAccepted)), AnswerToken(1)))
    #expect(desk.answers == [isAccepted ? .success(.none) : .failure(.rejected)])
    desk.handle(
      .control(.answerPairing(PairingAnswer(question: question.identifier, isAccepted: true)), AnswerToken(2)))
    #expect(desk.answers.count == 1, "it is answered once")
  }

  @Test("An unanswered question is refused before the pairing times out")
  func silence() {
    var desk = attended()
    ask(&desk, Self.comparison)
    desk.pass(.milliseconds(24_999))
    #expect(desk.answers.isEmpty)
    desk.pass(.milliseconds(1))
    #expect(desk.answers == [.failure(.rejected)])
  }

  @Test("A number that the other device shows is what the user enters, and nothing above six digits")
  func entered() {
    for (passkey, expected) in [
      (UInt32(42), Result<CallbackReply, BlueZError>.success(.passkey(42))), (1_000_000, .failure(.rejected)),
    ] {
      var desk = attended()
      ask(&desk, .requestPasskey(device: Desk.devicePath))
      let answer = PairingAnswer(question: 1, isAccepted: true, passkey: passkey)
      desk.handle(.control(.answerPairing(answer), AnswerToken(1)))
      #expect(desk.answers == [expected])
    }
  }

  @Test("A number to enter over there is shown once, and goes when the pairing is over")
  func shown() throws {
    var desk = attended()
    for entered in UInt16(0)...6 {
      ask(&desk, .displayPasskey(device: Desk.devicePath, passkey: 7, entered: entered), UInt64(entered))
    }
    #expect(desk.system.status.pairings.map(\.kind) == [.show])
    ask(&desk, .cancel, 20)
    #expect(desk.system.status.pairings.isEmpty)
    #expect(desk.answers.allSatisfy { $0 == .success(.none) })
  }

  @Test("A number that is only shown is reported at once, and then as long as the user waits")
  func shownOnce() {
    var desk = attended()
    desk.forget()
    ask(&desk, .displayPasskey(device: Desk.devicePath, passkey: 654_321, entered: 0))
    #expect(replies(desk, to: 77).count == 1)
    attend(&desk)
    #expect(replies(desk, to: 77).count == 1, "told already")
    desk.pass(Pairing.patience)
    #expect(replies(desk, to: 77).count == 2)
    attend(&desk)
    ask(&desk, Self.comparison, 2)
    #expect(replies(desk, to: 77).count == 3, "another question ends the wait")
  }

  @Test("bluetoothd's restart ends its questions; the agent registers again as before")
  func restart() {
    var desk = attended()
    ask(&desk, Self.comparison)
    desk.handle(.daemon(.vanished))
    #expect(desk.system.status.pairings.isEmpty)
    desk.forget()
    desk.appear()
    #expect(capabilities(desk) == [.keyboardDisplay])
  }

  @Test("The number of open questions is limited, for any caller")
  func bounded() {
    var desk = attended()
    for number in UInt64(1)...20 { ask(&desk, Self.comparison, number) }
    #expect(desk.system.status.pairings.count == 8)
    #expect(desk.answers.count == 12)
  }

  @Test("The link of a pairing is kept, also with a device that an app has asked for and no longer does")
  func linkOfPairing() {
    var desk = Desk()
    desk.appear(bonded: false)
    desk.open()
    desk.createCentral()
    desk.connect()
    desk.handle(.control(.quitApp(bundleIdentifier: Desk.bundle), AnswerToken(1)))
    desk.forget()
    desk.answersCalls = false
    desk.handle(.control(.pair(device: Desk.address.description), AnswerToken(5)))
    for _ in 0..<4 {
      let open = desk.effects.compactMap { effect -> CallIdentifier? in
        if case .bluez(.call(let identifier, _, let request)) = effect, request != .pair { identifier } else { nil }
      }
      if desk.asked({ $0 == .pair }) > 0 { break }
      desk.forget()
      for call in open { desk.handle(.daemon(.reply(call, .success(.none)))) }
    }
    #expect(desk.asked { $0 == .pair } == 1)
    desk.linkUp()
    #expect(desk.asked { $0 == .disconnect } == 0)
    desk.change(["Paired": .bool(true), "Bonded": .bool(true)])
    let call = desk.effects.lazy.compactMap { effect -> CallIdentifier? in
      if case .bluez(.call(let identifier, _, .pair)) = effect { identifier } else { nil }
    }.first
    if let call { desk.handle(.daemon(.reply(call, .success(.none)))) }
    #expect(replies(desk, to: 5).count == 1)
    #expect(desk.asked { $0 == .disconnect } == 1, "nobody wants it any longer")
  }

  @Test("latchkey pair looks for the device, pairs, and says how it went", arguments: [true, false])
  func pair(succeeds: Bool) throws {
    var desk = Desk()
    desk.appear(withDevice: false)
    desk.forget()
    desk.answersCalls = false
    desk.handle(.control(.pair(device: Desk.address.description.lowercased()), AnswerToken(5)))
    for _ in 0..<3 {
      // Everything is answered except the pairing itself.
      let open = desk.effects.compactMap { effect -> CallIdentifier? in
        if case .bluez(.call(let identifier, _, let request)) = effect, request != .pair { identifier } else { nil }
      }
      desk.forget()
      for call in open { desk.handle(.daemon(.reply(call, .success(.none)))) }
    }
    #expect(desk.system.discovery.registration.isDone)
    desk.answersCalls = true
    desk.handle(
      .daemon(
        .signal(
          .interfacesAdded(
            path: Desk.devicePath,
            [
              InterfaceName.device: [
                "Address": .string(Desk.address.description), "AddressType": .string("random"), "RSSI": .int16(-50),
              ]
            ]))))
    if succeeds {
      #expect(desk.asked { $0 == .pair } == 1)
      #expect(replies(desk, to: 5).count == 1)
      #expect(!desk.system.discovery.registration.isDone, "nobody looks any longer")
    } else {
      var other = Desk()
      other.appear(withDevice: false)
      other.handle(.control(.pair(device: "Nowhere"), AnswerToken(5)))
      other.pass(.seconds(61))
      guard case .failure(let error)? = replies(other, to: 5).first else {
        Issue.record("not answered")
        return
      }
      #expect(error.message.contains("Nowhere"))
    }
  }
}
