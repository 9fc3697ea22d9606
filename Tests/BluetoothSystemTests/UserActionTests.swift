import AppLink
import BlueZ
import BluetoothTypes
import Testing
import TimeTypes

@testable import BluetoothSystem

@Suite("What the user asks of an app") struct UserActionTests {
  private static let token = AnswerToken(77)

  private func ask(_ desk: inout Desk, _ name: String = "unlock", _ token: AnswerToken = Self.token) {
    desk.handle(.control(.performAction(bundleIdentifier: Desk.bundle, name: name), token))
  }

  /// An app in the background that has taken a user's action and not answered it.
  private func askedInBackground() -> Desk {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.settle()
    desk.leave()
    ask(&desk)
    desk.settle()
    return desk
  }

  private func replies(_ desk: Desk, _ token: AnswerToken = Self.token) -> [Result<Void, AppLinkError>] {
    desk.effects.compactMap { effect in
      guard case .controlReply(token, let result) = effect else { return nil }
      return result.map { _ in }
    }
  }

  private func kills(_ desk: Desk) -> Int { desk.effects.count { if case .kill = $0 { true } else { false } } }

  private func actions(_ desk: Desk) -> [ActionIdentifier] {
    desk.events.compactMap { event in
      if case .actionRequested(let identifier, "unlock") = event.body { identifier } else { nil }
    }
  }

  @Test("L8: a suspended app is woken for a user's action, whatever its modes, and the user gets its answer")
  func suspended() throws {
    for failure in [nil, "no link"] {
      var desk = Desk.asleep(modes: [], restoreIdentifier: nil)
      ask(&desk)
      #expect(desk.state == .background)
      let action = try #require(actions(desk).first)
      #expect(replies(desk).isEmpty, "it is not done yet")
      desk.say(.completeAction(action, error: failure))
      desk.say(.completeAction(action, error: nil))
      #expect(replies(desk).count == 1)
      if failure == nil {
        #expect(throws: Never.self) { try replies(desk)[0].get() }
      } else {
        #expect(throws: AppLinkError(.unavailable, "no link")) { try replies(desk)[0].get() }
      }
      desk.settle()
      desk.pass(.seconds(20))
      #expect(desk.state == .suspended)
    }
  }

  @Test("L8: an app that does not run is started in the background for a user's action, even if it was quit")
  func dead() throws {
    for isQuit in [false, true] {
      var desk = Desk()
      desk.connectAndSubscribe()
      desk.settle()
      if isQuit { desk.handle(.control(.quitApp(bundleIdentifier: Desk.bundle), AnswerToken(5))) }
      desk.die()
      desk.forget()
      ask(&desk)
      #expect(desk.launches.map(\.reason) == [.restore])
      desk.launchAndAttach()
      #expect(desk.state == .background)
      desk.say(.completeAction(try #require(actions(desk).first), error: nil))
      #expect(replies(desk).count == 1)
    }
  }

  @Test("L8: an app that ends, is quit, or never answers leaves no caller waiting")
  func unanswered() throws {
    var ended = Desk()
    ended.connectAndSubscribe()
    ask(&ended)
    ended.die()
    #expect(throws: AppLinkError.self) { try #require(replies(ended).first).get() }

    var quit = Desk()
    quit.connectAndSubscribe()
    ask(&quit)
    quit.handle(.control(.quitApp(bundleIdentifier: Desk.bundle), AnswerToken(5)))
    #expect(throws: AppLinkError.self) { try #require(replies(quit).first).get() }

    var silent = Desk()
    silent.connectAndSubscribe()
    ask(&silent)
    silent.pass(.seconds(44))
    #expect(replies(silent).isEmpty)
    silent.pass(.seconds(2))
    #expect(throws: AppLinkError.self) { try #require(replies(silent).first).get() }
    silent.say(.completeAction(try #require(actions(silent).first), error: nil))
    #expect(replies(silent).count == 1, "an answer that comes too late is none")
  }

  @Test("L7: a hung app that has not taken a request when it expires is ended, so that it does not do it later")
  func untaken() throws {
    var hung = Desk()
    hung.connectAndSubscribe()
    hung.settle()
    hung.leave()
    hung.forget()
    ask(&hung)
    hung.pass(.seconds(46))
    #expect(throws: AppLinkError.self) { try #require(replies(hung).first).get() }
    #expect(kills(hung) == 1)

    // One that has taken it and is busy knows that its user has waited for too long.
    var slow = Desk()
    slow.connectAndSubscribe()
    slow.settle()
    slow.forget()
    ask(&slow)
    slow.settle()
    slow.pass(.seconds(41))
    slow.settle()
    slow.pass(.seconds(5))
    #expect(throws: AppLinkError.self) { try #require(replies(slow).first).get() }
    #expect(kills(slow) == 0)
  }

  @Test("L8, W2: an app in the background has as long to answer as the person waits, and then a whole budget")
  func patience() throws {
    var desk = Desk.asleep()
    ask(&desk)
    desk.settle()
    desk.pass(.seconds(44))
    #expect(desk.state == .background)
    desk.say(.completeAction(try #require(actions(desk).first), error: nil))
    desk.pass(.milliseconds(9999))
    #expect(desk.state == .background)
    desk.pass(.milliseconds(1))
    #expect(desk.state == .suspended)

    desk.forget()
    ask(&desk)
    desk.settle()
    desk.pass(.seconds(41))
    desk.settle()
    desk.pass(.milliseconds(3_999))
    #expect(desk.state == .background && replies(desk).isEmpty)
    desk.pass(.milliseconds(1))
    #expect(throws: AppLinkError.self) { try #require(replies(desk).first).get() }
    // At the latest when the budget is over that began when it was told that nobody waits any longer.
    desk.pass(.seconds(6))
    #expect(desk.state == .suspended)
    #expect(desk.recorded(.appOverran) == 0 && kills(desk) == 0)
  }

  private func withdrawals(_ desk: Desk) -> [ActionIdentifier] {
    desk.events.compactMap { event in
      if case .actionWithdrawn(let identifier) = event.body { identifier } else { nil }
    }
  }

  @Test("L8: an app is told that its user gives up, and the user is told what the app says became of it")
  func givenUp() throws {
    for isAsleep in [false, true] {
      var desk = askedInBackground()
      // However long an app may take, it may have been suspended meanwhile.
      if isAsleep { desk.pass(.seconds(30)) }
      desk.handle(.withdrawn(AnswerToken(78)))
      #expect(withdrawals(desk).isEmpty, "that is another user")
      desk.handle(.withdrawn(Self.token))
      let action = try #require(actions(desk).first)
      #expect(withdrawals(desk) == [action] && replies(desk).isEmpty)
      desk.handle(.withdrawn(Self.token))
      #expect(withdrawals(desk) == [action], "once")
      desk.settle()
      desk.say(.completeAction(action, error: "nothing was sent"))
      #expect(throws: AppLinkError(.unavailable, "nothing was sent")) { try #require(replies(desk).first).get() }
      desk.pass(.seconds(60))
      #expect(replies(desk).count == 1 && kills(desk) == 0)
    }
  }

  @Test("L8: an app that is not told before its user gives up is not told at all") func givenUpBefore() throws {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.settle()
    desk.die()
    desk.forget()
    ask(&desk)
    desk.handle(.withdrawn(Self.token))
    #expect(throws: AppLinkError.self) { try #require(replies(desk).first).get() }
    desk.launchAndAttach()
    #expect(actions(desk).isEmpty && withdrawals(desk).isEmpty)
  }

  @Test("L8: an app that does not say what became of it leaves nobody waiting, and a hung one does not do it later")
  func givenUpInVain() throws {
    for isHung in [false, true] {
      var desk = askedInBackground()
      desk.handle(.withdrawn(Self.token))
      if !isHung { desk.settle() }
      desk.pass(.milliseconds(4_999))
      #expect(replies(desk).isEmpty)
      desk.pass(.milliseconds(1))
      #expect(throws: AppLinkError.self) { try #require(replies(desk).first).get() }
      #expect(kills(desk) == (isHung ? 1 : 0))
    }
  }

  @Test("L8: an app is told in time that its user waits no longer, so that it does nothing after that")
  func waitedTooLong() throws {
    var desk = askedInBackground()
    desk.pass(.milliseconds(39_999))
    #expect(withdrawals(desk).isEmpty)
    desk.pass(.milliseconds(1))
    #expect(withdrawals(desk) == actions(desk) && replies(desk).isEmpty)
    desk.settle()
    desk.say(.completeAction(try #require(actions(desk).first), error: "too late"))
    #expect(throws: AppLinkError(.unavailable, "too late")) { try #require(replies(desk).first).get() }

    // Also if the machine was suspended meanwhile.
    desk.forget()
    ask(&desk)
    desk.settle()
    desk.now = desk.now + .seconds(3600)
    desk.handle(.timePassed)
    #expect(withdrawals(desk) == actions(desk) && replies(desk).isEmpty)
    desk.settle()
    desk.pass(.seconds(5))
    #expect(throws: AppLinkError.self) { try #require(replies(desk).first).get() }

    // One that is not there by then is not told any more.
    desk.die()
    desk.forget()
    ask(&desk)
    desk.pass(.seconds(40))
    #expect(throws: AppLinkError.self) { try #require(replies(desk).first).get() }
  }

  @Test("L8: the number of requests is limited, and unknown apps are named")
  func bounds() {
    var desk = Desk()
    desk.connectAndSubscribe()
    for name in ["", String(repeating: "x", count: 65)] {
      desk.forget()
      ask(&desk, name)
      #expect(throws: AppLinkError.self) { try replies(desk)[0].get() }
    }
    for number in 0..<4 { ask(&desk, "unlock", AnswerToken(100 + UInt64(number))) }
    ask(&desk)
    #expect(throws: AppLinkError.self) { try replies(desk).last?.get() }
    desk.handle(.control(.performAction(bundleIdentifier: "org.nobody", name: "unlock"), AnswerToken(9)))
    #expect(throws: AppLinkError.self) { try replies(desk, AnswerToken(9))[0].get() }
  }

  @Test("L7: an app's line for its user is in the status until it is taken back, bounded and on one line")
  func alert() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.say(.showAlert("at the door\u{1B}[31m\n" + String(repeating: "ä", count: 1000)))
    let shown = desk.system.status.apps[0].alert ?? ""
    #expect(shown.hasPrefix("at the door [31m ä"))
    #expect(shown.utf8.count <= 512)
    desk.die()
    #expect(desk.system.status.apps[0].alert == shown, "its question still stands")
    desk.launchAndAttach()
    desk.say(.showAlert(nil))
    #expect(desk.system.status.apps[0].alert == nil)
  }

  @Test("L8: an app that completes an action of the last latchkeyd late completes none of this one")
  func actionOfTheLastSystem() throws {
    var desk = Desk()
    desk.connectAndSubscribe()
    ask(&desk)
    let old = try #require(actions(desk).first)
    let last = EventSequence(desk.lastSequence)
    desk.restartSystem()
    desk.appear(connected: true)
    desk.attach(lastEvent: last)
    ask(&desk)
    let new = try #require(actions(desk).first)
    desk.say(.completeAction(old, error: nil))
    #expect(replies(desk).isEmpty)
    desk.say(.completeAction(new, error: nil))
    #expect(replies(desk).count == 1)
  }
}
