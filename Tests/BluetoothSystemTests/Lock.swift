import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials

@testable import BluetoothSystem

/// What an app in the peripheral role publishes on a desk: one service with an offer, a command and a static value.
enum Lock {
  static let manager = ManagerIdentifier(1)
  static let creation = ManagerCreation(role: .peripheral, restoreIdentifier: "lock")
  static let advertisement = AdvertisementRequest(localName: "Door", serviceUUIDs: [Desk.service])
  static let offer = LocalAttributeIdentifier(UUID())
  static let command = LocalAttributeIdentifier(UUID())
  static let definition = ServiceDefinition(
    identifier: LocalAttributeIdentifier(UUID()), uuid: Desk.service,
    characteristics: [
      CharacteristicDefinition(
        identifier: offer, uuid: Desk.characteristic, properties: [.read, .notify, .notifyEncryptionRequired],
        permissions: [.readable, .readEncryptionRequired]),
      CharacteristicDefinition(
        identifier: command, uuid: BluetoothUUID(UInt16(0x2A00)), properties: [.write],
        permissions: [.writeable, .writeEncryptionRequired]),
      CharacteristicDefinition(
        identifier: LocalAttributeIdentifier(UUID()), uuid: BluetoothUUID(UInt16(0x2A01)), properties: [.read],
        permissions: .readable,
        value: [1, 2, 3]),
    ])
}

extension Desk {
  /// A desk whose app publishes the lock's service and advertises it.
  static func lock(advertisingMilliseconds: UInt32? = nil, withDevice: Bool = true) -> Desk {
    var desk = Desk(advertisingMilliseconds: advertisingMilliseconds)
    desk.appear(withDevice: withDevice)
    desk.open()
    desk.createLock()
    desk.say(.peripheral(Lock.manager, .addService(Lock.definition)))
    desk.say(.peripheral(Lock.manager, .startAdvertising(Lock.advertisement)))
    return desk
  }

  mutating func createLock() { say(.createManager(Lock.manager, Lock.creation)) }

  /// The app's process went on while latchkeyd was restarted, and believes that this central is subscribed.
  mutating func resumeLock(subscriber: PeerIdentifier) {
    let view = ManagerView(
      state: .poweredOn, services: [Lock.definition], advertisement: Lock.advertisement,
      subscriptions: [Lock.offer: [subscriber]])
    say(.resumeManager(Lock.manager, Lock.creation, view))
  }

  /// bluetoothd calls a method of a published attribute, or of the agent.
  mutating func callBack(_ number: UInt64, _ path: ObjectPath, _ callback: Callback) {
    handle(.daemon(.callback(CallbackIdentifier(number), path: path, callback)))
  }

  /// What the system has answered to bluetoothd's calls.
  var answers: [Result<CallbackReply, BlueZError>] {
    effects.compactMap { if case .bluez(.answer(_, let result)) = $0 { result } else { nil } }
  }

  /// The path of the lock's characteristic of that index, as it was registered last.
  func attribute(_ index: Int) -> ObjectPath {
    let roots = requests.compactMap { call -> ObjectPath? in
      if case .registerApplication(let root, _) = call.request { root } else { nil }
    }
    return (roots.last ?? .root).appending("service").appending("characteristic\(index)")
  }
}
