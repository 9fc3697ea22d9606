import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import Testing

@testable import BluetoothSystem

@Suite("Services that belong to the system")
struct ServicesOfTheSystemTests {
  /// Generic Access, Generic Attribute, Human Interface Device, Apple's notification centre, and Battery.
  private static let uuids = [
    BluetoothUUID(UInt16(0x1800)), BluetoothUUID(UInt16(0x1801)), BluetoothUUID(UInt16(0x1812)),
    BluetoothUUID(high: 0x7905_F431_B5CE_4E99, low: 0xA40F_4B1E_122D_00D0), BluetoothUUID(UInt16(0x180F)),
  ]

  private func connected() -> Desk {
    var desk = Desk()
    desk.connectAndSubscribe()
    for (index, uuid) in Self.uuids.enumerated() {
      desk.handle(
        .daemon(
          .signal(
            .interfacesAdded(
              path: Desk.devicePath.appending("service002\(index)"),
              [
                InterfaceName.gattService: [
                  "UUID": .string(uuid.description), "Primary": .bool(true),
                ]
              ]))))
    }
    desk.forget()
    return desk
  }

  private func found(_ asked: [BluetoothUUID]?) -> [BluetoothUUID] {
    var desk = connected()
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(9), .discoverServices(asked))))
    guard case .operationCompleted(_, _, .services(let services)) = desk.events.last?.body else {
      Issue.record("not answered: \(desk.events)")
      return []
    }
    return services.map(\.uuid)
  }

  @Test("C4: a discovery of everything leaves out 1800, 1801, 1812 and ANCS, as on iOS")
  func everything() { #expect(found(nil) == [Desk.service, BluetoothUUID(UInt16(0x180F))]) }

  @Test("C4: a discovery that names 1800, 1801, 1812 or ANCS does not find them either")
  func named() {
    #expect(found(Self.uuids) == [Desk.service, BluetoothUUID(UInt16(0x180F))])
    #expect(found([BluetoothUUID(UInt16(0x1801))]) == [Desk.service])
  }

  @Test(
    "C6: an app that publishes 1800 or 1801 is told that the UUID is not allowed, as on iOS", arguments: uuids[0...1])
  func published(_ uuid: BluetoothUUID) throws {
    var desk = Desk()
    desk.appear(bonded: false, connected: true)
    desk.open()
    desk.say(.createManager(Desk.central, ManagerCreation(role: .peripheral)))
    var definition = Lock.definition
    definition.uuid = uuid
    desk.say(.peripheral(Desk.central, .addService(definition)))
    desk.settle()
    let told = try #require(desk.events.last { $0.body.kind == .serviceAdded })
    guard case .serviceAdded(definition.identifier, .coreBluetooth(.uuidNotAllowed, _)) = told.body else {
      Issue.record("\(told)")
      return
    }
    #expect(desk.system.publishing.services.isEmpty)
  }
}
