import CoreBluetooth
import LatchkeyVersion

/// The services of the Bluetooth SIG beside the lock's own: Device Information and Battery. Strangers need not know which version
/// runs here, so the former needs an encrypted link. The latter does not: a phone's bluetoothd reads it by itself on each link, and
/// where it would have to pair for that and may not, the link ends (docs/bluez.md).
struct StandardServices {
  private static let informationUUID = CBUUID(string: "180A")
  private static let batteryUUID = CBUUID(string: "180F")
  static let batteryLevelUUID = CBUUID(string: "2A19")

  private var information: CBMutableService?
  private var level: CBMutableCharacteristic?
  private var told: UInt8?

  /// Whether what every lock has is published.
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

  /// Battery, to be published, if there is a charge and it is not published yet. A lock without a battery does not have it: each
  /// phone's bluetoothd would read it in vain.
  mutating func makeBattery(_ percent: UInt8?) -> CBMutableService? {
    guard percent != nil, level == nil else { return nil }
    let level = CBMutableCharacteristic(
      type: Self.batteryLevelUUID, properties: [.read, .notify], value: nil, permissions: [.readable])
    let battery = CBMutableService(type: Self.batteryUUID, primary: true)
    battery.characteristics = [level]
    (self.level, told) = (level, percent)
    return battery
  }

  /// Those that the system has kept for an earlier process.
  mutating func restore(_ services: [CBMutableService]) {
    information = services.first { $0.uuid == Self.informationUUID }
    // What an earlier version published says that it is that version.
    let versions = information?.characteristics?.filter { $0.value == Data(LatchkeyVersion.current.utf8) }
    if versions?.isEmpty ?? true { information = nil }
    let battery = services.first { $0.uuid == Self.batteryUUID }
    level = battery?.characteristics?.first { $0.uuid == Self.batteryLevelUUID } as? CBMutableCharacteristic
  }

  /// The characteristic, if there is a charge that it has not told yet.
  mutating func changedLevel(_ percent: UInt8?) -> CBMutableCharacteristic? {
    guard let percent, percent != told, let level else { return nil }
    told = percent
    return level
  }
}
