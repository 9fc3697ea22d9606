import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import Testing
import TimeTypes

@testable import BluetoothSystem

/// Seen in schedules: latchkeyd died while a subscribed central's link came up, and the central never subscribed again.
@Suite("Subscriptions after a new registration")
struct SubscriptionRenewalTests {
  private func lock() -> Desk {
    var desk = Desk(modes: ["bluetooth-peripheral"], keepAlive: true)
    desk.appear()
    desk.launchAndAttach()
    publish(&desk)
    desk.linkUp()
    return desk
  }

  private func publish(_ desk: inout Desk) {
    desk.say(.createManager(Desk.central, ManagerCreation(role: .peripheral, restoreIdentifier: "lock")))
    desk.say(.peripheral(Desk.central, .addService(Lock.definition)))
  }

  private func offer(_ desk: Desk) -> ObjectPath? {
    desk.requests.compactMap { request -> ObjectPath? in
      guard request.request.isServiceRegistration, case .registerApplication(let root, _) = request.request else {
        return nil
      }
      return root.appending("service").appending("characteristic0")
    }.last
  }

  private func subscribe(_ desk: inout Desk) throws {
    desk.handle(.daemon(.callback(CallbackIdentifier(1), path: try #require(offer(desk)), .startNotify)))
  }

  /// latchkeyd comes back on a link of a subscribed central.
  /// - Parameters:
  ///   - isComingUp: the link is new: bluetoothd has not discovered the other side's services yet.
  ///   - isHeard: latchkeyd had heard of the subscription.
  ///   - after: when, after the subscription.
  ///   - others: other centrals that are linked as well.
  private func restarted(
    isComingUp: Bool = false, isHeard: Bool = true, after: Duration = .seconds(30), others: ManagedObjects = [:]
  ) throws -> Desk {
    var desk = lock()
    if isHeard { try subscribe(&desk) }
    desk.pass(after)
    desk.restartSystem()
    desk.appear(connected: true, resolved: !isComingUp, others: others)
    desk.attach()
    desk.say(
      .resumeManager(
        Desk.central, ManagerCreation(role: .peripheral, restoreIdentifier: "lock"),
        ManagerView(state: .poweredOn, services: [Lock.definition])))
    #expect(offer(desk) != nil)
    return desk
  }

  private func ends(_ desk: Desk) -> Int { desk.asked { $0 == .disconnect } }

  /// The link is ended, and the next one has its own beginning.
  private func expectOneEnd(_ desk: inout Desk, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(ends(desk) == 1, sourceLocation: sourceLocation)
    desk.linkDown()
    desk.linkUp()
    desk.pass(.seconds(600))
    #expect(ends(desk) == 1, sourceLocation: sourceLocation)
  }

  @Test("C6: a link on which a subscribed central does not subscribe again after a new registration is ended, once")
  func ended() throws {
    var desk = try restarted()
    desk.pass(SubscriptionRenewal.patience - .milliseconds(1))
    #expect(ends(desk) == 0)
    desk.pass(.milliseconds(1))
    expectOneEnd(&desk)
    #expect(desk.recorded(.subscriptionsUnrenewed) > 0)
  }

  @Test("C6: a central that subscribes again keeps its link")
  func renewed() throws {
    var desk = try restarted()
    desk.pass(.seconds(9))
    try subscribe(&desk)
    desk.pass(.seconds(600))
    #expect(ends(desk) == 0)
  }

  @Test("C6: a subscription that may have been lost with latchkeyd is made again on another link, once")
  func unheard() throws {
    var desk = try restarted(isComingUp: true, isHeard: false)
    desk.linkUp()
    desk.pass(SubscriptionRenewal.patience)
    expectOneEnd(&desk)
  }

  @Test("C6: a central whose subscription may have been lost, and that subscribes again, keeps its link")
  func unheardRenewed() throws {
    var desk = try restarted(isComingUp: true, isHeard: false)
    desk.linkUp()
    try subscribe(&desk)
    desk.pass(.seconds(600))
    #expect(ends(desk) == 0)
  }

  @Test("C6: a central that latchkeyd found linked for a while, without a subscription, keeps its link")
  func neverSubscribed() throws {
    var desk = try restarted(isHeard: false)
    desk.pass(.seconds(600))
    #expect(ends(desk) == 0)
  }

  private let otherPath = ObjectPath(unchecked: "/org/bluez/hci0/dev_C0_DE_00_00_00_0D")

  private func other(isComingUp: Bool = false) -> ManagedObjects.Value {
    [
      InterfaceName.device: [
        "Address": .string("C0:DE:00:00:00:0D"), "AddressType": .string("random"), "Paired": .bool(false),
        "Bonded": .bool(false), "Connected": .bool(true), "ServicesResolved": .bool(!isComingUp),
        "Trusted": .bool(false), "UUIDs": .strings([]),
      ]
    ]
  }

  private func otherCentralComes(_ desk: inout Desk) {
    desk.handle(.daemon(.signal(.interfacesAdded(path: otherPath, other()))))
  }

  private func otherCentralGoes(_ desk: inout Desk) {
    desk.handle(
      .daemon(
        .signal(
          .propertiesChanged(
            path: otherPath, interface: InterfaceName.device,
            changed: ["Connected": .bool(false), "ServicesResolved": .bool(false)], invalidated: []))))
    desk.handle(.daemon(.signal(.interfacesRemoved(path: otherPath, [InterfaceName.device]))))
  }

  @Test("C6: another central's subscription does not count for one whose link came up at the registration")
  func otherSubscribes() throws {
    var desk = try restarted(isComingUp: true)
    desk.linkUp()
    otherCentralComes(&desk)
    try subscribe(&desk)
    desk.pass(SubscriptionRenewal.patience)
    expectOneEnd(&desk)
  }

  @Test("C6: a subscription that only one central can have made is its own", arguments: [true, false])
  func ownSubscription(_ otherComesLater: Bool) throws {
    var desk = try restarted(isComingUp: true)
    desk.linkUp()
    try subscribe(&desk)
    if otherComesLater { otherCentralComes(&desk) }
    desk.pass(.seconds(600))
    #expect(ends(desk) == 0)
  }

  @Test("C6: of two centrals whose links were up at the registration, both have heard of it")
  func bothHeard() throws {
    var desk = try restarted(others: [otherPath: other()])
    try subscribe(&desk)
    desk.pass(.seconds(600))
    #expect(ends(desk) == 0)
  }

  @Test("C6: a central that had just subscribed is to do so again, whoever else does", arguments: [1, 2])
  func justSubscribed(_ subscriptions: Int) throws {
    var desk = try restarted(after: .milliseconds(90), others: [otherPath: other()])
    for _ in 1...subscriptions { try subscribe(&desk) }
    desk.pass(SubscriptionRenewal.patience)
    // Two subscriptions are those of both.
    if subscriptions == 1 { expectOneEnd(&desk) } else { #expect(ends(desk) == 0) }
  }

  @Test("C6: a central that had just subscribed is to do so again, also if another one does and leaves")
  func otherLeaves() throws {
    var desk = try restarted(after: .milliseconds(90), others: [otherPath: other()])
    try subscribe(&desk)
    desk.handle(.daemon(.callback(CallbackIdentifier(2), path: try #require(offer(desk)), .stopNotify)))
    otherCentralGoes(&desk)
    desk.pass(SubscriptionRenewal.patience)
    expectOneEnd(&desk)
  }

  @Test(
    "C6: a subscription that is given up and made anew does not count for another central", arguments: [true, false])
  func subscribesTwice(_ leaves: Bool) throws {
    var desk = try restarted(after: .milliseconds(90), others: [otherPath: other()])
    try subscribe(&desk)
    if leaves {
      otherCentralGoes(&desk)
      otherCentralComes(&desk)
    } else {
      desk.handle(.daemon(.callback(CallbackIdentifier(2), path: try #require(offer(desk)), .stopNotify)))
    }
    try subscribe(&desk)
    desk.pass(SubscriptionRenewal.patience)
    #expect(desk.asked { $0 == .disconnect } > 0)
  }

  @Test("C6: the subscription of a central whose link came up after the registration does not count for another one")
  func newcomerSubscribes() throws {
    var desk = try restarted()
    otherCentralComes(&desk)
    try subscribe(&desk)
    desk.pass(SubscriptionRenewal.patience)
    expectOneEnd(&desk)
  }

  @Test("C6: the subscription of a central whose link came up at the registration does not count for another one")
  func oneThatComesUpSubscribes() throws {
    var desk = try restarted(others: [otherPath: other(isComingUp: true)])
    try subscribe(&desk)
    desk.pass(SubscriptionRenewal.patience)
    #expect(desk.asked { $0 == .disconnect } > 0)
    #expect(desk.recorded(.subscriptionsUnrenewed) > 0)
  }

  @Test("C6: one that was linked at the registration, and one that came after it, subscribe, and both keep their links")
  func bothSubscribe() throws {
    var desk = try restarted()
    otherCentralComes(&desk)
    try subscribe(&desk)
    try subscribe(&desk)
    desk.pass(.seconds(600))
    #expect(ends(desk) == 0)
  }

  @Test(
    "C6: a central that was not subscribed, and one that left meanwhile, owe no subscription", arguments: [true, false])
  func owesNothing(_ leaves: Bool) throws {
    var desk = leaves ? try restarted() : lock()
    if leaves {
      desk.pass(.seconds(5))
      desk.linkDown()
      desk.linkUp()
    }
    desk.pass(.seconds(600))
    #expect(ends(desk) == 0)
  }
}
