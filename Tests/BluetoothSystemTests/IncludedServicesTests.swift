import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import Testing

@testable import BluetoothSystem

/// bluetoothd accepts services that include each other only from the same application, and in a certain order.
@Suite struct IncludedServicesTests {
  private static let manager = ManagerIdentifier(1)
  private static let inner = ServiceDefinition(
    identifier: LocalAttributeIdentifier(UUID()), uuid: BluetoothUUID(UInt16(0x180F)), isPrimary: false,
    characteristics: [])
  private static let outer = ServiceDefinition(
    identifier: LocalAttributeIdentifier(UUID()), uuid: BluetoothUUID(UInt16(0x180D)), isPrimary: true,
    includedServices: [inner.identifier],
    characteristics: [])

  private func applications(_ desk: Desk) -> [(root: ObjectPath, objects: ManagedObjects)] {
    desk.requests.compactMap {
      if case .registerApplication(let root, let objects) = $0.request, $0.request.isServiceRegistration {
        (root, objects)
      } else {
        nil
      }
    }
  }

  private func desk() -> Desk {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.say(.createManager(Self.manager, ManagerCreation(role: .peripheral, restoreIdentifier: "lock")))
    desk.say(.peripheral(Self.manager, .addService(Self.inner)))
    desk.say(.peripheral(Self.manager, .addService(Self.outer)))
    return desk
  }

  /// The service with a UUID, and its path, in an application.
  private func service(_ uuid: UInt16, _ objects: ManagedObjects) -> (path: ObjectPath, properties: Properties)? {
    for (path, interfaces) in objects {
      guard let properties = interfaces[InterfaceName.gattService],
        properties["UUID"] == .string(BluetoothUUID(uuid).description)
      else { continue }
      return (path, properties)
    }
    return nil
  }

  @Test("Rows, 5: services that include each other are one application, the included one first")
  func together() throws {
    let desk = desk()
    let last = try #require(applications(desk).last)
    let inner = try #require(service(0x180F, last.objects))
    let outer = try #require(service(0x180D, last.objects))
    #expect(inner.path < outer.path)
    #expect(outer.properties["Includes"] == .array(of: "o", [.path(inner.path)]))
    // A service that was registered alone is removed first.
    let first = try #require(applications(desk).first)
    #expect(desk.asked { $0 == .unregisterApplication(root: first.root) } == 1)
    #expect(desk.bodies.count { $0 == "serviceAdded" } == 2)
  }

  @Test("Rows, 5: if one of two linked services is removed, the other is registered again without it")
  func parted() throws {
    var desk = desk()
    desk.forget()
    desk.say(.peripheral(Self.manager, .removeService(Self.outer.identifier)))
    let last = try #require(applications(desk).last)
    #expect(service(0x180D, last.objects) == nil)
    #expect(service(0x180F, last.objects) != nil)
    #expect(!desk.bodies.contains("serviceAdded"))
  }
}
