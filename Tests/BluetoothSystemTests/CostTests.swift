import AppLink
import BlueZ
import BusValue
import Testing
import TimeTypes

@testable import BluetoothSystem

/// What one event costs while an app holds many requests. It is counted in peripherals that are looked at, so that a busy
/// machine changes nothing.
@Suite("Cost")
struct CostTests {
  /// Five seconds without events, a link that comes and goes, a request that is cancelled and made again.
  private func counts(_ holder: inout Holder) -> [Int] {
    [
      holder.examined { holder in
        holder.now = holder.now + .seconds(5)
        holder.carryOut(.timePassed)
      },
      holder.examined { holder in
        #expect(holder.carryOut(.connection(of: 0, isUp: true)).count == 1)
        holder.now = holder.now + .seconds(5)
        #expect(holder.carryOut(.connection(of: 0, isUp: false)).count == 1)
      },
      holder.examined { holder in
        let peer = Holder.peer(0)
        holder.carryOut(.request(Holder.link, .central(Holder.manager, .connect(peer, ConnectOptions()))))
        holder.carryOut(.request(Holder.link, .central(Holder.manager, .cancelConnection(peer))))
        holder.carryOut(.request(Holder.link, .central(Holder.manager, .connect(peer, ConnectOptions()))))
      },
    ]
  }

  @Test("An event concerns the peripherals that it is about, however many others are held")
  func perEvent() {
    var few = Holder(2)
    var many = Holder(3000)
    let (one, all) = (counts(&few), counts(&many))
    #expect(one == all)
    #expect(one.allSatisfy { $0 < 200 }, "\(one)")
  }

  @Test("What is kept of bluetoothd's objects has memory of its own, apart from the message that brought them")
  func ownMemory() throws {
    func place(_ path: ObjectPath) -> UInt? {
      path.text.utf8.withContiguousStorageIfAvailable { UInt(bitPattern: $0.baseAddress) }
    }
    let objects = Holder.objects(3, isSubscribed: false)
    var system = BluetoothSystem(apps: [], stored: StoredState(), seed: 1)
    _ = system.handle(.started, at: .zero)
    _ = system.handle(.daemon(.appeared(objects)), at: .zero)
    #expect(system.bluez.devices.count == 3)
    for given in objects.keys where objects[given]?[InterfaceName.device] != nil {
      let kept = try #require(system.bluez.devices.keys.first { $0 == given })
      #expect(place(kept) != place(given))
      #expect(system.bluez.devices[given].map { place($0.path) } == place(kept))
      #expect(system.bluez.devicePaths.values.first { $0 == given }.map(place) == place(kept))
    }
  }

  @Test("A restart looks at each held peripheral a fixed number of times")
  func restart() {
    let (some, more) = (Holder(200).system.changes.examined, Holder(2000).system.changes.examined)
    #expect(Double(more) < 10.1 * Double(some), "\(some) for 200, \(more) for 2000")
  }

  @Test("An app with 1,000 subscriptions gets each value once, and a value concerns one peripheral")
  func subscriptions() {
    var few = Holder(2, isSubscribed: true)
    var many = Holder(1000, isSubscribed: true)
    #expect(many.started.count == 1000)
    #expect(Set(many.started).count == 1000)
    let one = few.examined { #expect($0.carryOut(.value([7], of: 1)) == [.value([7], of: 1)]) }
    let all = many.examined { #expect($0.carryOut(.value([7], of: 1)) == [.value([7], of: 1)]) }
    #expect(one == all)
    many.started = []
    let told = many.carryOut(.connection(of: 500, isUp: false))
    #expect(told.map(\.kind) == [.disconnected])
    #expect(many.carryOut(.value([8], of: 999)) == [.value([8], of: 999)])
    #expect(many.started.isEmpty)
  }

  @Test("One of 100 apps with one request each is started when its peripheral comes, and no other")
  func manyApps() {
    let names = (0..<100).map { "org.example.app\(100 + $0)" }
    var records: [StoredRecord] = []
    for (number, name) in names.enumerated() {
      let key = ManagerKey(app: name, role: .central, restoreIdentifier: "one")
      records.append(.manager(ManagerRecord(key: key)))
      records.append(.peer(Holder.peerRecord(number)))
      records.append(
        .peripheral(PeripheralRecord(manager: key, peer: Holder.peer(number), isWanted: true, told: .connecting)))
    }
    var system = BluetoothSystem(
      apps: names.map { AppDeclaration(bundleIdentifier: $0, backgroundModes: ["bluetooth-central"]) },
      stored: StoredState(records), seed: 1)
    _ = system.handle(.started, at: .zero)
    _ = system.handle(.daemon(.appeared(Holder.objects(100, isSubscribed: false))), at: .zero)
    _ = system.handle(.timePassed, at: .zero)
    let before = system.changes.examined
    for number in [42, 7] {
      let launched = system.handle(.connection(of: number, isUp: true), at: .zero).compactMap { effect in
        if case .launch(let name, _) = effect { name } else { nil }
      }
      #expect(launched == [names[number]])
    }
    #expect(system.changes.examined - before < 100)
    // Both are being launched, and the others neither run nor have anything to do.
    _ = system.handle(.timePassed, at: .zero)
    let apps = system.apps.examined
    _ = system.handle(.timePassed, at: .zero)
    #expect(system.apps.examined == apps)
    _ = system.handle(.appLaunched(names[7], ProcessIdentity(processIdentifier: 7)), at: .zero)
    #expect(system.apps.examined == apps + 1)
    #expect(system.nextDeadline != nil)
  }

  @Test("S10: thousands of peripherals are restored, and are told of, in parts")
  func parts() {
    let holder = Holder(1300)
    #expect(holder.told.prefix(3).map(\.restoredCount) == [512, 512, 276])
    var successor = holder.restarted(lastEvent: EventSequence(UInt64(holder.told.count)))
    let snapshots = (0..<1300).map { PeripheralSnapshot(identifier: Holder.peer($0), state: .connecting) }
    let (parts, rest) = ManagerView(state: .poweredOn, peripherals: snapshots).inParts
    #expect(parts.map(\.peripherals.count) == [512, 512])
    for part in parts {
      successor.carryOut(
        .request(Holder.link, .heldPeripherals(Holder.manager, part.peripherals, part.options)))
    }
    successor.carryOut(.request(Holder.link, .resumeManager(Holder.manager, Holder.creation, rest)))
    #expect((0..<1300).allSatisfy { successor.system.held.isWanted(Holder.peer($0)) })
    // What is in no part is no longer wanted.
    var other = holder.restarted(lastEvent: EventSequence(UInt64(holder.told.count)))
    other.carryOut(.request(Holder.link, .resumeManager(Holder.manager, Holder.creation, rest)))
    #expect((0..<1300).count { other.system.held.isWanted(Holder.peer($0)) } == 276)
  }

  @Test("10,000 peripherals of one app are restored; one more is refused, and the others stay")
  func bound() {
    var holder = Holder(10_000)
    #expect(holder.told.reduce(0) { $0 + ($1.restoredCount ?? 0) } == 10_000)
    holder.carryOut(.seen(10_000))
    let told = holder.carryOut(
      .request(
        Holder.link, .central(Holder.manager, .connect(Holder.identifier(10_000, in: &holder.system), ConnectOptions()))
      ))
    guard case .failedToConnect(_, .coreBluetooth(let code, _))? = told.first else {
      Issue.record("\(told)")
      return
    }
    #expect(code == .connectionLimitReached)
    #expect(holder.system.held.count(of: Holder.key) == 10_000)
    // A request that the app takes back makes room.
    holder.carryOut(.request(Holder.link, .central(Holder.manager, .cancelConnection(Holder.peer(3)))))
    let again = holder.carryOut(
      .request(
        Holder.link, .central(Holder.manager, .connect(Holder.identifier(10_000, in: &holder.system), ConnectOptions()))
      ))
    #expect(again.isEmpty)
  }
}
