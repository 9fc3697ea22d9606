import AppLink
import BluetoothSystem
import BluetoothTypes
import FoundationEssentials

/// An app that stands for one kind of app.
package struct Actor: Sendable, Hashable {
  package struct ManagerPlan: Sendable, Hashable {
    package var role: Role
    package var restoreIdentifier: String?
  }

  package var name: String
  package var machine: String
  package var modes: [String]
  package var keepAlive: Bool
  /// Its managers, numbered from 1. The first is made when the app starts, the others when they are restored or asked
  /// for, but a peripheral manager is made at once as well.
  package var managers: [ManagerPlan]
  /// What it publishes, if it has a peripheral manager.
  package var target: Target?

  package var bundle: String { "org.example.\(name)" }
  package var declaration: AppDeclaration {
    AppDeclaration(bundleIdentifier: bundle, backgroundModes: modes, keepAlive: keepAlive)
  }
  package var isCentral: Bool { managers.contains { $0.role == .central } }
  package func mayWork(_ role: Role) -> Bool {
    modes.contains(role == .central ? "bluetooth-central" : "bluetooth-peripheral")
  }
}

/// What a central can look for: the service of one app.
package enum Target: String, Sendable, Hashable, CaseIterable, Comparable {
  case lock, heart, cat

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  private var number: UInt64 {
    switch self {
    case .lock: 1
    case .heart: 2
    case .cat: 3
    }
  }
  package var service: BluetoothUUID { uuid(1) }
  package var offerUUID: BluetoothUUID { uuid(2) }
  package var commandUUID: BluetoothUUID { uuid(3) }
  package var streamUUID: BluetoothUUID { uuid(4) }
  private func uuid(_ part: UInt64) -> BluetoothUUID {
    BluetoothUUID(high: 0x5C4E_D01E_0000_4000 | number << 16, low: 0x8000_0000_0000_0000 | part)
  }

  /// Read and notified: the newest pushed value.
  package var offer: LocalAttributeIdentifier { identifier(2) }
  package var command: LocalAttributeIdentifier { identifier(3) }
  /// Written without a response.
  package var stream: LocalAttributeIdentifier { identifier(4) }
  private func identifier(_ part: UInt8) -> LocalAttributeIdentifier {
    LocalAttributeIdentifier(
      UUID(uuid: (UInt8(number), 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, part)))
  }

  /// The lock's service works only over a bond. The others need none.
  package var needsBond: Bool { self == .lock }

  package var definition: ServiceDefinition {
    ServiceDefinition(
      identifier: identifier(1), uuid: service,
      characteristics: [
        CharacteristicDefinition(
          identifier: offer, uuid: offerUUID,
          properties: needsBond ? [.read, .notify, .notifyEncryptionRequired] : [.read, .notify],
          permissions: needsBond ? [.readable, .readEncryptionRequired] : [.readable]),
        CharacteristicDefinition(
          identifier: command, uuid: commandUUID, properties: [.write],
          permissions: needsBond ? [.writeable, .writeEncryptionRequired] : [.writeable]),
        CharacteristicDefinition(
          identifier: stream, uuid: streamUUID, properties: [.writeWithoutResponse],
          permissions: needsBond ? [.writeable, .writeEncryptionRequired] : [.writeable]),
      ])
  }

  package var advertisement: AdvertisementRequest {
    AdvertisementRequest(localName: rawValue, serviceUUIDs: [service])
  }
}

/// All the actors of one schedule, by name.
package struct Cast: Sendable {
  package var actors: [Actor]
  /// Sorted.
  package var machines: [String] { Array(Set(actors.map(\.machine))).sorted() }
  package subscript(name: String) -> Actor? { actors.first { $0.name == name } }
  package func machine(of target: Target) -> String { actors.first { $0.target == target }?.machine ?? "" }

  /// The targets that an actor's apps may ask for. Two machines have at most one link, and a system can't tell a
  /// central from a peripheral that it asked for itself on the same link. So a later machine never asks for an earlier
  /// one.
  package func targets(of actor: Actor) -> [Target] {
    let order = ["phone", "strap", "tablet", "door"]
    func place(_ machine: String) -> Int { order.firstIndex(of: machine) ?? 0 }
    return Target.allCases.filter { target in
      actors.contains { $0.target == target } && place(machine(of: target)) > place(actor.machine)
    }
  }

  /// Four machines and six apps: with and without background modes, with and without restoration, one and several
  /// managers, each role and both.
  package static func street(keepAliveLock: Bool) -> Cast {
    let central = "bluetooth-central"
    let peripheral = "bluetooth-peripheral"
    return Cast(actors: [
      Actor(
        name: "ann", machine: "phone", modes: [central], keepAlive: false,
        managers: [
          .init(role: .central, restoreIdentifier: "keys"), .init(role: .central, restoreIdentifier: "things"),
        ]),
      Actor(
        name: "bob", machine: "phone", modes: [], keepAlive: false,
        managers: [.init(role: .central, restoreIdentifier: nil)]),
      Actor(
        name: "cat", machine: "tablet", modes: [central, peripheral], keepAlive: false,
        managers: [
          .init(role: .central, restoreIdentifier: "home"), .init(role: .peripheral, restoreIdentifier: "beacon"),
        ], target: .cat),
      Actor(
        name: "dan", machine: "strap", modes: [central], keepAlive: false,
        managers: [.init(role: .central, restoreIdentifier: "watch")]),
      Actor(
        name: "heart", machine: "strap", modes: [peripheral], keepAlive: false,
        managers: [.init(role: .peripheral, restoreIdentifier: "rate")], target: .heart),
      Actor(
        name: "lock", machine: "door", modes: [peripheral], keepAlive: keepAliveLock,
        managers: [.init(role: .peripheral, restoreIdentifier: "lock")], target: .lock),
    ])
  }

  /// One app and one peripheral.
  package static let pair = Cast(actors: [
    Actor(
      name: "ann", machine: "phone", modes: ["bluetooth-central"], keepAlive: false,
      managers: [.init(role: .central, restoreIdentifier: "keys")]),
    Actor(
      name: "lock", machine: "door", modes: ["bluetooth-peripheral"], keepAlive: true,
      managers: [.init(role: .peripheral, restoreIdentifier: "lock")], target: .lock),
  ])
}
