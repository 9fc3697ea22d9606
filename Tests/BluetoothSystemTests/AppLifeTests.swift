import AppLink
import BlueZ
import BluetoothTypes
import Testing
import TimeTypes

@testable import BluetoothSystem

@Suite("App life and restoration")
struct AppLifeTests {
  @Test("S8, S9, S10, S12: a dead app is relaunched when its request completes; willRestoreState comes first")
  func relaunch() throws {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.loseAndAskAgain()
    desk.fallAsleep()
    #expect(desk.state == .suspended)
    desk.die()
    desk.pass(.seconds(3600 * 24 * 5))
    #expect(desk.launches.count == 1, "only the user has opened it")
    desk.forget()
    desk.linkUp()
    #expect(desk.launches == [LaunchOptions(reason: .restore, centrals: ["central"], peripherals: [])])
    desk.launchAndAttach()
    #expect(
      desk.effects.contains {
        if case .attachReply(_, .success(let reply)) = $0 { reply.centralsToRestore == ["central"] } else { false }
      })
    desk.createCentral()
    desk.value([1])
    #expect(desk.bodies == ["willRestoreState", "stateChanged", "connected", "valueUpdated"])
    guard case .willRestoreCentral(let restoration)? = desk.events.first?.body else { return }
    let peripheral = try #require(restoration.peripherals.first)
    #expect(peripheral.state == .connecting)
    #expect(peripheral.services?.first?.characteristics?.first?.isNotifying == true)
    #expect(desk.events.map(\.sequence.rawValue) == [1, 2, 3, 4])
    #expect(desk.state == .background)
  }

  @Test("S9, S10: an app that died while connected is relaunched for the loss, and is restored before it hears of it")
  func relaunchForALoss() throws {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.fallAsleep()
    desk.die()
    desk.forget()
    desk.linkDown()
    #expect(desk.launches == [LaunchOptions(reason: .restore, centrals: ["central"], peripherals: [])])
    desk.launchAndAttach()
    desk.createCentral()
    #expect(desk.bodies == ["willRestoreState", "stateChanged", "disconnected"])
    guard case .willRestoreCentral(let restoration)? = desk.events.first?.body else { return }
    let peripheral = try #require(restoration.peripherals.first)
    #expect(peripheral.state == .connected, "what its app was last told")
  }

  @Test(
    "S12: what an app was subscribed to when it died is restored, though the link of its unbonded peripheral was lost",
    arguments: [false, true])
  func subscriptionBeforeALoss(isRestarted: Bool) throws {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.fallAsleep()
    desk.die()
    desk.change(["Paired": .bool(false), "Bonded": .bool(false)])
    desk.linkDown()
    if isRestarted {
      desk.restartSystem()
      desk.appear(bonded: false)
    }
    desk.launchAndAttach()
    desk.createCentral()
    let restored = desk.events.lazy.compactMap { event in
      if case .willRestoreCentral(let restoration) = event.body { restoration.peripherals.first } else { nil }
    }.last
    #expect(restored?.state == .connected)
    #expect(restored?.services?.first?.characteristics?.first?.isNotifying == true)
    #expect(desk.bodies.last == "disconnected")
  }

  @Test(
    "S10: an app that is launched before Bluetooth has a state hears of its losses after the state"
  )
  func lossBeforeTheState() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.fallAsleep()
    desk.die()
    desk.restartSystem()
    desk.handle(.daemon(.appeared([WellKnown.firstAdapter: [InterfaceName.adapter: [:]]])))
    #expect(desk.launches.count == 1)
    desk.launchAndAttach()
    desk.createCentral()
    desk.settle()
    #expect(desk.bodies == ["willRestoreState"])
    desk.pass(.seconds(3))
    #expect(desk.bodies == ["willRestoreState"], "the adapter may still come on")
    desk.handle(
      .daemon(
        .signal(
          .propertiesChanged(
            path: WellKnown.firstAdapter, interface: InterfaceName.adapter, changed: ["Powered": .bool(true)],
            invalidated: []))))
    #expect(desk.bodies == ["willRestoreState", "stateChanged", "disconnected"])
  }

  /// An app that died five days ago, and a link that comes up for it and is lost before its new process attaches.
  private func flapped() -> Desk {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.loseAndAskAgain()
    desk.fallAsleep()
    desk.die()
    desk.pass(.seconds(3600 * 24 * 5))
    desk.forget()
    desk.linkUp()
    desk.linkDown()
    return desk
  }

  @Test("S9, S10: a link that comes and goes while the dead app is started: restored first, then told of both")
  func flappingWhileLaunched() throws {
    var desk = flapped()
    desk.launchAndAttach()
    #expect(
      desk.effects.contains {
        if case .attachReply(_, .success(let reply)) = $0 { reply.centralsToRestore == ["central"] } else { false }
      })
    desk.createCentral()
    #expect(desk.bodies == ["willRestoreState", "stateChanged", "connected", "disconnected"])
    guard case .willRestoreCentral(let restoration)? = desk.events.first?.body else { return }
    let peripheral = try #require(restoration.peripherals.first)
    #expect(peripheral.state == .connecting, "what its app was last told")
  }

  @Test("S9, C4: a request whose link came and went untold is still held by the next latchkeyd")
  func flappingOverRestart() {
    var desk = flapped()
    desk.restartSystem()
    desk.forget()
    desk.appear()
    desk.linkUp()
    #expect(desk.launches == [LaunchOptions(reason: .restore, centrals: ["central"], peripherals: [])])
  }

  @Test("S13: an app that the user quit is not relaunched until it is opened")
  func quit() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.loseAndAskAgain()
    desk.handle(.control(.quitApp(bundleIdentifier: Desk.bundle), AnswerToken(0)))
    desk.die()
    desk.forget()
    desk.linkUp()
    #expect(desk.launches.isEmpty)
    #expect(desk.asked { $0 == .disconnect } >= 1, "nobody wants that link")
    desk.open()
    desk.createCentral()
    #expect(desk.bodies == ["stateChanged"])
  }

  @Test("S13: Bluetooth switched off and on in Settings ends what a dead app was preserved for")
  func settingsSwitch() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.loseAndAskAgain()
    desk.die()
    desk.forget()
    desk.handle(.control(.setBluetooth(on: false), AnswerToken(0)))
    desk.handle(.control(.setBluetooth(on: true), AnswerToken(0)))
    desk.linkUp()
    #expect(desk.launches.isEmpty)
  }

  @Test("Rule 5: a daemon killed while the app is dead still keeps the promise")
  func daemonKilled() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.loseAndAskAgain()
    desk.die()
    let peer = desk.peer
    desk.restartSystem()
    #expect(desk.peer == peer)
    desk.appear()
    #expect(desk.asked(\.isProfileRegistration) == 1)
    #expect(desk.asked { $0 == .startNotify } == 1)
    desk.linkUp()
    #expect(desk.launches.count == 1)
    // Killed again, before the app attached.
    desk.restartSystem()
    desk.appear(connected: true)
    #expect(desk.launches.count == 1)
    desk.launchAndAttach()
    desk.createCentral()
    #expect(desk.bodies == ["willRestoreState", "stateChanged", "connected"])
  }

  @Test("After the daemon's death a running app is told what it missed, and nothing twice")
  func resumed() {
    var desk = Desk()
    desk.connectAndSubscribe()
    let last = EventSequence(desk.lastSequence)
    let services = desk.system.held.holders(of: desk.peer).first?.peripheral.services
    desk.restartSystem()
    desk.appear(connected: true)
    desk.attach(lastEvent: last)
    var view = ManagerView(
      state: .poweredOn,
      peripherals: [PeripheralSnapshot(identifier: desk.peer, state: .connected, services: services)])
    let creation = ManagerCreation(role: .central, restoreIdentifier: "central")
    desk.say(.resumeManager(Desk.central, creation, view))
    #expect(desk.bodies.isEmpty)
    desk.restartSystem()
    desk.appear(connected: false)
    desk.attach(lastEvent: last)
    view.connectOptions = [:]
    desk.say(.resumeManager(Desk.central, creation, view))
    #expect(desk.bodies == ["disconnected"])
    #expect(desk.events.first?.sequence == EventSequence(last.rawValue + 1))
  }

  @Test("L3: a suspended app whose request completed while the daemon was away is woken and told once")
  func suspendedOverRestart() {
    let announced = ConnectOptions(notifyOnConnection: true)
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.linkDown()
    desk.say(.central(Desk.central, .connect(desk.peer, announced)))
    desk.fallAsleep()
    #expect(desk.state == .suspended)
    let last = EventSequence(desk.lastSequence)
    desk.restartSystem()
    desk.appear(connected: true)
    #expect(desk.state == .background)
    #expect(desk.effects.contains { if case .resume = $0 { true } else { false } })
    desk.attach(lastEvent: last)
    let view = ManagerView(
      state: .poweredOn, peripherals: [PeripheralSnapshot(identifier: desk.peer, state: .connecting)],
      connectOptions: [desk.peer: announced])
    desk.say(.resumeManager(Desk.central, ManagerCreation(role: .central, restoreIdentifier: "central"), view))
    #expect(desk.bodies == ["connected"])
    #expect(desk.recorded(.requestCompleted) == 1)
    // The next link completes the next request.
    desk.linkDown()
    desk.say(.central(Desk.central, .connect(desk.peer, announced)))
    desk.linkUp()
    #expect(desk.recorded(.requestCompleted) == 2)
  }

  @Test("A keep-alive app is started at boot and at once after it ended; a crash loop backs off")
  func keepAlive() {
    var desk = Desk(keepAlive: true)
    #expect(desk.launches.map(\.reason) == [.keepAlive])
    desk.launchAndAttach()
    desk.pass(.seconds(60))
    #expect(desk.state == .foreground)
    desk.forget()
    desk.die()
    #expect(desk.launches.count == 1)
    var delays: [Duration] = []
    for _ in 0..<8 {
      desk.launchAndAttach()
      desk.forget()
      desk.die()
      let ended = desk.now
      while desk.launches.isEmpty, let deadline = desk.system.nextDeadline { desk.pass(deadline - desk.now) }
      delays.append(desk.now - ended)
    }
    #expect(delays == [0, 1, 2, 4, 8, 16, 32, 64].map { .seconds($0) })
  }

  @Test("F1, L2: an app that always runs is not suspended: nobody opens or leaves it")
  func alwaysAwake() {
    var desk = Desk(keepAlive: true)
    desk.launchAndAttach()
    desk.leave()
    desk.pass(.seconds(600))
    #expect(desk.state == .foreground)
    desk.restartSystem()
    desk.attach()
    desk.pass(.seconds(600))
    #expect(desk.state == .foreground)
  }

  @Test("F1, L2: an app that always runs is not suspended after a latchkeyd that ended while it started the app")
  func alwaysAwakeAfterABrokenLaunch() {
    var desk = Desk(keepAlive: true)
    desk.handle(.appLaunched(Desk.bundle, desk.process))
    desk.restartSystem()
    desk.attach()
    desk.pass(.seconds(600))
    #expect(desk.state == .foreground)
    #expect(!desk.effects.contains { if case .suspend = $0 { true } else { false } })
  }

  @Test("A launch that the supervisor never answers is given up and tried again")
  func unansweredLaunch() {
    var desk = Desk(keepAlive: true)
    desk.forget()
    desk.pass(.seconds(31))
    #expect(desk.effects.contains { if case .record(.appLaunchFailed, _) = $0 { true } else { false } })
    desk.pass(.seconds(31))
    #expect(desk.launches.count >= 1)
  }

  @Test("An attach of a wrong version, of an unknown app and of a second process is refused with a reason")
  func refused() {
    var desk = Desk()
    desk.open()
    let other = ProcessIdentity(processIdentifier: 999)
    let attachments = [
      Attachment(protocolVersion: 7, bundleIdentifier: Desk.bundle), Attachment(bundleIdentifier: "org.example.none"),
      Attachment(bundleIdentifier: Desk.bundle),
    ]
    desk.forget()
    for attachment in attachments {
      desk.handle(.attach(AppLinkIdentifier(77), other, attachment, AnswerToken(9)))
    }
    let codes = desk.effects.compactMap { effect -> AppLinkError.Code? in
      if case .attachReply(_, .failure(let error)) = effect { error.code } else { nil }
    }
    #expect(codes == [.wrongVersion, .unknownApp, .notThatApp])
  }
}
