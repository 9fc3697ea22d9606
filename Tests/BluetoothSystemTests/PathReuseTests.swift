import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import Testing
import TimeTypes

@testable import BluetoothSystem

/// bluetoothd's objects go and come, and a path may come back with another meaning.
@Suite("Paths and handles that mean something else")
struct PathReuseTests {
  private static let other = BluetoothUUID(high: 0x1234_5678_0000_4000, low: 0x8000_0000_0000_0099)

  /// The characteristic that the app has subscribed to is gone, and another one is at its path and its handle.
  private func replaced(whileLinked: Bool) -> Desk {
    var desk = Desk()
    desk.connectAndSubscribe()
    if !whileLinked { desk.linkDown() }
    desk.handle(.daemon(.signal(.interfacesRemoved(path: Desk.characteristicPath, [InterfaceName.gattCharacteristic]))))
    desk.handle(
      .daemon(
        .signal(
          .interfacesAdded(
            path: Desk.characteristicPath,
            [
              InterfaceName.gattCharacteristic: [
                "UUID": .string(Self.other.description), "Service": .path(Desk.servicePath),
                "Flags": .strings(["read", "write", "notify"]),
              ]
            ]))))
    if !whileLinked {
      desk.connect()
      desk.linkUp()
    }
    return desk
  }

  @Test(
    "attack 38: what another characteristic says under an old path is not taken for the old one's",
    arguments: [true, false])
  func value(_ whileLinked: Bool) {
    var desk = replaced(whileLinked: whileLinked)
    desk.forget()
    desk.value([1, 2, 3])
    #expect(!desk.bodies.contains("valueUpdated"), "\(desk.bodies)")
  }

  @Test(
    "attack 41: after a change of the layout nothing is written by a handle of before, and the app is told of the change",
    arguments: [true, false])
  func write(_ whileLinked: Bool) {
    var desk = replaced(whileLinked: whileLinked)
    #expect(desk.bodies.contains("servicesModified"), "\(desk.bodies)")
    desk.forget()
    desk.say(
      .central(
        Desk.central,
        .perform(
          desk.peer, OperationIdentifier(9), .writeCharacteristic(0x0b, value: [1, 2, 3], withResponse: true))))
    #expect(desk.asked { if case .writeValue = $0 { true } else { false } } == 0)
    #expect(desk.bodies.contains("operationCompleted"), "\(desk.bodies)")
  }
}
