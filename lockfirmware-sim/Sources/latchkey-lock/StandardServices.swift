import CoreBluetooth
import LatchkeyVersion

/// The services of the Bluetooth SIG besides the lock's own: Device Information and Battery. Device Information needs
/// an encrypted link, because strangers need not know which version runs here. Battery does not: a phone's bluetoothd
/// reads it on each link by itself, and if it had to pair for that and may not, the link would end (docs/bluez.md).
struct StandardServices {
  private static let informationUUID = CBUUID(string: "180A")
  private static let batteryUUID = CBUUID(string: "180F")
  static let batteryLevelUUID = CBUUID(string: "2A19")

  private var information: CBMutableService?
  private var level: CBMutableCharacteristic?
  private var told: UInt8?

  /// Whether the service that every lock has is published.
  var isWhole: Bool { information != nil }

  /// Device Information, to be published.
  mutating func makeInformation() -> CBMutableService {
    let information = CBMutableService(type: Self.informationUUID, primary: true)
    let texts = [("2A29", "Latchkey"), ("2A24", "latchkey-lock"), ("2A26", LatchkeyVersion.current)]
    information.characteristics = texts.map { uuid, text in
      CBMutableCharacteristic(
        type: CBUUID(string: uuid), properties: [.read], value: Data(text.utf8), permissions: [.readEncryptionRequired])
    }
    self.information = information
    return information
  }

  /// The Battery service, to be published. `nil` if there is no charge, or if it is published already. A lock without a
  /// battery does not have the service, because each phone's bluetoothd would read it in vain.
  mutating func makeBattery(_ percent: UInt8?) -> CBMutableService? {
    guard percent != nil, level == nil else { return nil }
    let level = CBMutableCharacteristic(
      type: Self.batteryLevelUUID, properties: [.read, .notify], value: nil, permissions: [.readable])
    let battery = CBMutableService(type: Self.batteryUUID, primary: true)
    battery.characteristics = [level]
    (self.level, told) = (level, percent)
    return battery
  }

  /// Takes the services that the system has kept for an earlier process.
  mutating func restore(_ services: [CBMutableService]) {
    information = services.first { $0.uuid == Self.informationUUID }
    // Services of an earlier release have that release's version in them, so they are published again.
    let versions = information?.characteristics?.filter { $0.value == Data(LatchkeyVersion.current.utf8) }
    if versions?.isEmpty ?? true { information = nil }
    let battery = services.first { $0.uuid == Self.batteryUUID }
    level = battery?.characteristics?.first { $0.uuid == Self.batteryLevelUUID } as? CBMutableCharacteristic
  }

  /// The characteristic to notify, or `nil` if there is no charge, or no change since the last notification.
  mutating func changedLevel(_ percent: UInt8?) -> CBMutableCharacteristic? {
    guard let percent, percent != told, let level else { return nil }
    told = percent
    return level
  }
}
