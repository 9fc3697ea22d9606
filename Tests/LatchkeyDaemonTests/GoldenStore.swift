import AppLink
import BluetoothSystem
import BluetoothTypes
import Foundation
import GRDB
import Testing
import TimeTypes

@testable import LatchkeyDaemon

/// Stores as earlier programs left them (`Stores`), and the promises in them.
enum GoldenStore {
  /// The SQL of a golden store.
  static func sql(_ name: String) throws -> String {
    try String(
      contentsOf: #require(Bundle.module.url(forResource: "Stores/" + name, withExtension: "sql")), encoding: .utf8)
  }

  /// Puts a golden store into the folder at this path, as the earlier program left it.
  /// - Parameter change: SQL to run in it.
  static func place(_ name: String, at path: String, change: String = "") throws {
    let folder = try StateFolder(path: path, machine: "phone")
    let database = try DatabaseQueue(path: folder.storePath)
    defer { try? database.close() }
    try database.writeWithoutTransaction { database in
      try database.execute(sql: "PRAGMA journal_mode = WAL")
      try database.execute(sql: sql(name).replacingOccurrences(of: "'HOME'", with: "'\(folder.home)'"))
      try database.execute(sql: change)
    }
  }

  private static func identifier<Identifier: UUIDIdentifier>(_ number: Int) throws -> Identifier {
    Identifier(try #require(UUID(uuidString: "00000000-0000-4000-8000-" + String(format: "%012X", number))))
  }

  private static let phone = ManagerKey(
    app: "org.example.phone", role: .central, restoreIdentifier: "keys \u{E9}\u{1F511}/\"")
  private static let nameless = ManagerKey(app: "org.example.phone", role: .central, restoreIdentifier: nil, number: 2)
  private static let door = ManagerKey(app: "org.example.door", role: .peripheral, restoreIdentifier: "door")
  private static let wide = BluetoothUUID(UInt32(0x1234_5678))
  private static var long: BluetoothUUID {
    get throws { try #require(BluetoothUUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")) }
  }

  /// Every kind of record, with every member.
  static func everything(
    isBondUnproven: Bool? = true, hasWakes: Bool = true, isEnding: Bool? = true, hasLinkFacts: Bool = true,
    hasNewSubscribers: Bool = true
  ) throws -> [StoredRecord] {
    [.settings(SettingsRecord(salt: 0xFEDC_BA98_7654_3210, bluetoothOn: false, databaseMark: 3))] + apps(hasWakes)
      + (try managers(hasNewSubscribers)) + (try peripherals) + (try services)
      + (try peers(isBondUnproven, isEnding, hasLinkFacts)) + [
        .subscription(SubscriptionRecord(central: try identifier(1), characteristic: try identifier(0x101)))
      ]
  }

  private static func apps(_ hasWakes: Bool) -> [StoredRecord] {
    let wakes = [
      WakeRecord(
        app: "org.example.phone", because: .event(.connected), unixSeconds: 1_767_225_600.5, seconds: 2.25, told: 4,
        said: 3, outcome: "suspended"),
      WakeRecord(
        app: "org.example.phone", because: .event(.valueUpdated), unixSeconds: 1_767_225_700, seconds: 10, told: 1,
        said: 0, outcome: "overran"),
    ]
    func app(
      _ name: String, _ state: AppState, process: Int32? = nil, _ quitByUser: Bool, launches: Int,
      wakes: [WakeRecord] = []
    ) -> StoredRecord {
      let process = process.map {
        ProcessIdentity(processIdentifier: $0, startTicks: 1 << 40, boot: "7c5e4a52-0b1b-4a5e-9c2d-2f4a9b7d1c11")
      }
      return .app(
        AppRecord(
          bundleIdentifier: "org.example." + name, state: state, process: process, quitByUser: quitByUser,
          launches: launches, wakes: wakes))
    }
    return [
      app("phone", .background, process: 4711, false, launches: 12, wakes: hasWakes ? wakes : []),
      app("door", .suspended, process: 2_000_000, false, launches: 1), app("quit", .notRunning, true, launches: 2),
      app("new", .launching, false, launches: 0), app("shown", .foreground, process: 99, false, launches: 3),
    ]
  }

  private static func managers(_ hasNewSubscribers: Bool) throws -> [StoredRecord] {
    let (one, two): (PeerIdentifier, PeerIdentifier) = (try identifier(1), try identifier(2))
    let services = [BluetoothUUID(0x180F as UInt16), try long]
    let newSubscribers = [NewSubscriber(central: two, youngUntil: Instant(nanoseconds: 86_400_000_000_001))]
    return [
      .manager(
        ManagerRecord(
          key: phone, scan: ScanRequest(services: services, allowDuplicates: true, solicitedServices: [wide]))),
      .manager(ManagerRecord(key: nameless, scan: ScanRequest(services: nil))),
      .manager(
        ManagerRecord(
          key: door,
          advertisement: AdvertisementRequest(localName: "Door \u{1F6AA}", serviceUUIDs: [try long, wide]),
          subscribers: [try identifier(0x101): [one, two], try identifier(0x102): [one]],
          newSubscribers: hasNewSubscribers ? newSubscribers : [])),
    ]
  }

  private static var peripherals: [StoredRecord] {
    get throws {
      let all = ConnectOptions(
        notifyOnConnection: true, notifyOnDisconnection: true, notifyOnNotification: true, enableAutoReconnect: true,
        startDelaySeconds: 2.5)
      let discovered = [
        ServiceSnapshot(handle: 1, uuid: BluetoothUUID(0x1801 as UInt16), isPrimary: true),
        ServiceSnapshot(
          handle: 0x10, uuid: try long, isPrimary: true, includedServices: [0x40],
          characteristics: [
            CharacteristicSnapshot(
              handle: 0x11, uuid: BluetoothUUID(0x2A19 as UInt16), properties: [.read, .notify], isNotifying: true,
              descriptors: [DescriptorSnapshot(handle: 0x13, uuid: BluetoothUUID(0x2902 as UInt16))]),
            CharacteristicSnapshot(
              handle: 0xFFFE, uuid: wide, properties: CharacteristicProperties(rawValue: 0x3FF), isNotifying: false),
          ]),
        ServiceSnapshot(handle: 0x40, uuid: wide, isPrimary: false, includedServices: [], characteristics: []),
      ]
      let (one, two, three): (PeerIdentifier, PeerIdentifier, PeerIdentifier) = (
        try identifier(1), try identifier(2), try identifier(3)
      )
      return [
        .peripheral(PeripheralRecord(manager: phone, peer: one, options: all, isWanted: true, told: .connecting)),
        .peripheral(
          PeripheralRecord(manager: phone, peer: two, isWanted: true, told: .connected, services: discovered)),
        .peripheral(
          PeripheralRecord(
            manager: phone, peer: three, options: ConnectOptions(notifyOnDisconnection: true), isWanted: false,
            told: .disconnected, services: [])),
        .peripheral(PeripheralRecord(manager: nameless, peer: one, isWanted: false, told: .disconnecting)),
      ]
    }
  }

  private static var services: [StoredRecord] {
    get throws {
      let bolt = CharacteristicDefinition(
        identifier: try identifier(0x101), uuid: wide, properties: [.read, .write, .notify, .notifyEncryptionRequired],
        permissions: [.readable, .writeable, .readEncryptionRequired, .writeEncryptionRequired],
        descriptors: [DescriptorDefinition(uuid: BluetoothUUID(0x2901 as UInt16), value: Array("Bolt".utf8))])
      let bytes = CharacteristicDefinition(
        identifier: try identifier(0x102), uuid: BluetoothUUID(0x2A00 as UInt16), properties: .read,
        permissions: .readable, value: [0, 1, 127, 128, 255])
      let empty = CharacteristicDefinition(
        identifier: try identifier(0x103), uuid: BluetoothUUID(0x2A01 as UInt16), properties: .read,
        permissions: .readable, value: [])
      let main = ServiceDefinition(
        identifier: try identifier(0x100), uuid: try long, isPrimary: true, includedServices: [try identifier(0x200)],
        characteristics: [bolt, bytes, empty])
      let included = ServiceDefinition(
        identifier: try identifier(0x200), uuid: BluetoothUUID(0x180A as UInt16), isPrimary: false, characteristics: [])
      return [
        .service(ServiceRecord(manager: door, definition: main, handle: 0x30, order: 2)),
        .service(ServiceRecord(manager: door, definition: included, handle: 0x20, order: 1)),
      ]
    }
  }

  private static func peers(_ isBondUnproven: Bool?, _ isEnding: Bool?, _ hasLinkFacts: Bool) throws -> [StoredRecord] {
    let addresses = try [
      ("F2:34:56:78:9A:BC", .random), ("C0:FF:EE:00:00:01", .public), ("0A:00:00:00:00:01", .random),
    ]
    .map { text, kind in try #require(DeviceAddress(text, kind: kind)) }
    return [
      .peer(
        PeerRecord(
          identifier: try identifier(1), address: addresses[0], name: "T\u{FC}r \u{1F6AA} / \"\\", wasRequested: true,
          services: [], isBondUnproven: isBondUnproven)),
      .peer(
        PeerRecord(
          identifier: try identifier(2), address: addresses[1], name: "Lock",
          gapName: hasLinkFacts ? "Front Door" : nil, wasRequested: true,
          services: [BluetoothUUID(0x1801 as UInt16), try long], isEnding: isEnding, mtu: hasLinkFacts ? 185 : nil,
          foundServices: hasLinkFacts ? [BluetoothUUID(0x180F as UInt16)] : nil)),
      .peer(PeerRecord(identifier: try identifier(3), address: addresses[2], wasRequested: false)),
    ]
  }
}
