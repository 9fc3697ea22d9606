import BlueZ
import BusValue

/// What the lock serves in the cases: one service with all kinds of characteristics that a door needs, and a second
/// service that is added and removed.
enum ConformanceService {
  static let service = "c0f0a000-3c0c-4d6a-9a42-1c6f3d8e7b10"
  /// Read and notify.
  static let offer = "c0f0a001-3c0c-4d6a-9a42-1c6f3d8e7b10"
  /// Write, with response only: bluetoothd does not wait for the application's answer if both kinds are allowed.
  static let command = "c0f0a002-3c0c-4d6a-9a42-1c6f3d8e7b10"
  /// Read and write over an encrypted link only.
  static let secret = "c0f0a003-3c0c-4d6a-9a42-1c6f3d8e7b10"
  /// Read and indicate.
  static let status = "c0f0a004-3c0c-4d6a-9a42-1c6f3d8e7b10"
  /// Write, with and without response.
  static let remark = "c0f0a005-3c0c-4d6a-9a42-1c6f3d8e7b10"
  static let second = "c0f0b000-3c0c-4d6a-9a42-1c6f3d8e7b10"
  static let extra = "c0f0b001-3c0c-4d6a-9a42-1c6f3d8e7b10"

  /// Another UUID of the same kind.
  static func uuid(_ number: UInt16) -> String { "c0f0\(String(number, radix: 16))-3c0c-4d6a-9a42-1c6f3d8e7b10" }

  static let root = ObjectPath(unchecked: "/conformance/app")
  static let secondRoot = ObjectPath(unchecked: "/conformance/second")
  static let profileRoot = ObjectPath(unchecked: "/conformance/profile")
  static let advertisementPath = ObjectPath(unchecked: "/conformance/advertisement")
  static let agentPath = ObjectPath(unchecked: "/conformance/agent")

  static func path(_ name: String) -> ObjectPath { root.appending("door").appending(name) }
  static let extraPath = secondRoot.appending("second").appending("extra")

  /// - Parameter handle: the handle of the service. Those of its attributes follow.
  static func door(handle: UInt16? = nil) -> ManagedObjects {
    var service: Properties = ["UUID": .string(Self.service), "Primary": .bool(true)]
    if let handle { service["Handle"] = .uint16(handle) }
    let door = root.appending("door")
    func characteristic(_ uuid: String, _ flags: [String], _ value: [UInt8]) -> Interfaces {
      [
        InterfaceName.gattCharacteristic: [
          "UUID": .string(uuid), "Service": .path(door), "Flags": .strings(flags), "Value": .bytes(value),
        ]
      ]
    }
    return [
      door: [InterfaceName.gattService: service],
      path("offer"): characteristic(offer, ["read", "notify"], Array("offer".utf8)),
      path("command"): characteristic(command, ["write"], []),
      path("remark"): characteristic(remark, ["write", "write-without-response"], []),
      path("secret"): characteristic(secret, ["encrypt-read", "encrypt-write"], Array("secret".utf8)),
      path("status"): characteristic(status, ["read", "indicate"], Array("status".utf8)),
    ]
  }

  static func secondService() -> ManagedObjects {
    let service = secondRoot.appending("second")
    return [
      service: [InterfaceName.gattService: ["UUID": .string(second), "Primary": .bool(true)]],
      extraPath: [
        InterfaceName.gattCharacteristic: [
          "UUID": .string(extra), "Service": .path(service), "Flags": .strings(["read"]),
          "Value": .bytes(Array("extra".utf8)),
        ]
      ],
    ]
  }

  /// A GattProfile1, by default for the door's service.
  static func profile(_ uuids: [String] = [service]) -> ManagedObjects {
    [profileRoot.appending("profile"): [InterfaceName.gattProfile: ["UUIDs": .strings(uuids)]]]
  }

  /// A service at its own path below the first root, with characteristics by name: UUID and flags.
  static func service(
    _ name: String, _ uuid: String, _ characteristics: [(name: String, uuid: String, flags: [String])] = [],
    includes: [String] = [], at root: ObjectPath = root
  ) -> ManagedObjects {
    let path = root.appending(name)
    var properties: Properties = ["UUID": .string(uuid), "Primary": .bool(true)]
    if !includes.isEmpty { properties["Includes"] = .array(of: "o", includes.map { .path(root.appending($0)) }) }
    var objects: ManagedObjects = [path: [InterfaceName.gattService: properties]]
    for one in characteristics {
      objects[path.appending(one.name)] = [
        InterfaceName.gattCharacteristic: [
          "UUID": .string(one.uuid), "Service": .path(path), "Flags": .strings(one.flags),
          "Value": .bytes(Array(one.name.utf8)),
        ]
      ]
    }
    return objects
  }

  /// - Parameter isDiscoverable: whether its flags make it discoverable; `nil` leaves that to bluetoothd.
  static func advertisement(isDiscoverable: Bool? = true) -> ManagedObjects {
    var properties: Properties = ["Type": .string("peripheral"), "ServiceUUIDs": .strings([service])]
    properties["Discoverable"] = isDiscoverable.map { .bool($0) }
    return [advertisementPath: [InterfaceName.advertisement: properties]]
  }
}
