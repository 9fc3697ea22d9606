import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import Testing
import TimeTypes

@testable import BluetoothSystem

/// What one event costs while an app holds many requests. It is counted in peripherals that are looked at, so that a busy
/// machine changes nothing.
@Suite("Cost")
struct CostTests {
  /// A system that has started with this many requests of one app, for devices that are bonded and away.
  private struct Holder {
    static let app = "org.example.collector"
    let manager = ManagerKey(app: Self.app, role: .central, restoreIdentifier: "many")
    let link = AppLinkIdentifier(1)
    var system: BluetoothSystem
    var now = Instant.zero
    let peers: [PeerIdentifier]
    private var stored: StoredState

    init(_ count: Int) {
      let peers = (0..<count).map { number in
        PeerIdentifier(
          UUID(uuid: (1, 2, 3, 4, 5, 6, 0x80, 0, 0x80, 0, 0, 0, 0, 0, UInt8(number >> 8), UInt8(number & 255))))
      }
      var records: [StoredRecord] = [.manager(ManagerRecord(key: manager))]
      for (number, peer) in peers.enumerated() {
        records.append(.peer(PeerRecord(identifier: peer, address: Self.address(number), wasRequested: true)))
        records.append(
          .peripheral(PeripheralRecord(manager: manager, peer: peer, isWanted: true, told: .connecting)))
      }
      self.peers = peers
      stored = StoredState(records)
      system = BluetoothSystem(
        apps: [AppDeclaration(bundleIdentifier: Self.app, backgroundModes: ["bluetooth-central"])], stored: stored,
        seed: 1)
      var objects: ManagedObjects = [WellKnown.firstAdapter: [InterfaceName.adapter: ["Powered": .bool(true)]]]
      for number in 0..<count { objects[Self.path(number)] = [InterfaceName.device: Self.properties(number)] }
      for event: BluetoothSystem.Event in [
        .started, .daemon(.appeared(objects)), .control(.openApp(bundleIdentifier: Self.app), AnswerToken(1)),
        .appLaunched(Self.app, ProcessIdentity(processIdentifier: 100)),
        .attach(
          link, ProcessIdentity(processIdentifier: 100), Attachment(bundleIdentifier: Self.app), AnswerToken(2)),
        .request(
          link, .createManager(ManagerIdentifier(1), ManagerCreation(role: .central, restoreIdentifier: "many"))),
        .timePassed,
      ] { carryOut(event) }
    }

    static func address(_ number: Int) -> DeviceAddress {
      DeviceAddress(bits: 0x001B_DC00_0000 + UInt64(number), kind: .public)
    }
    static func path(_ number: Int) -> ObjectPath { WellKnown.firstAdapter.appending("dev_\(100_000 + number)") }
    static func properties(_ number: Int) -> Properties {
      [
        "Address": .string(address(number).description), "AddressType": .string("public"), "Bonded": .bool(true),
        "Paired": .bool(true), "Connected": .bool(false),
        "UUIDs": .array(of: "s", [.string("12345678-0000-4000-8000-000000000001")]),
      ]
    }

    /// Carries out an event and all answers to what it asks of bluetoothd. Returns what the app was told.
    @discardableResult mutating func carryOut(_ event: BluetoothSystem.Event) -> [AppLink.Event.Body] {
      var open = [event]
      var told: [AppLink.Event.Body] = []
      while !open.isEmpty {
        for effect in system.handle(open.removeFirst(), at: now) {
          switch effect {
          case .bluez(.call(let call, _, _)): open.append(.daemon(.reply(call, .success(.none))))
          case .event(let event, _):
            told.append(event.body)
            open.append(.request(link, .handled(through: event.sequence)))
          default: break
          }
        }
      }
      return told
    }

    /// How many peripherals are looked at while something happens.
    mutating func examined(_ work: (inout Self) -> Void) -> Int {
      let before = system.changes.examined
      work(&self)
      return system.changes.examined - before
    }

    mutating func connected(_ number: Int, _ isConnected: Bool) -> BluetoothSystem.Event {
      .daemon(
        .signal(
          .propertiesChanged(
            path: Self.path(number), interface: InterfaceName.device, changed: ["Connected": .bool(isConnected)],
            invalidated: [])))
    }
  }

  /// Five seconds without events, a link that comes and goes, a request that is cancelled and made again.
  private func counts(_ holder: inout Holder) -> [Int] {
    [
      holder.examined { holder in
        holder.now = holder.now + .seconds(5)
        holder.carryOut(.timePassed)
      },
      holder.examined { holder in
        #expect(holder.carryOut(holder.connected(0, true)).count == 1)
        holder.now = holder.now + .seconds(5)
        #expect(holder.carryOut(holder.connected(0, false)).count == 1)
      },
      holder.examined { holder in
        let peer = holder.peers[0]
        let manager = ManagerIdentifier(1)
        holder.carryOut(.request(holder.link, .central(manager, .connect(peer, ConnectOptions()))))
        holder.carryOut(.request(holder.link, .central(manager, .cancelConnection(peer))))
        holder.carryOut(.request(holder.link, .central(manager, .connect(peer, ConnectOptions()))))
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

  @Test("A restart looks at each held peripheral a fixed number of times")
  func restart() {
    let (some, more) = (Holder(200).system.changes.examined, Holder(2000).system.changes.examined)
    #expect(Double(more) < 10.1 * Double(some), "\(some) for 200, \(more) for 2000")
  }
}
