import CoreBluetooth
import LockProtocol

/// What is known of the lock's service.
struct LockCharacteristics {
  static let serviceUUID = CBUUID(string: LockService.serviceUUID)
  static let offerUUID = CBUUID(string: LockService.offerUUID)
  static let commandUUID = CBUUID(string: LockService.commandUUID)
  static let quickCommandUUID = CBUUID(string: LockService.quickCommandUUID)
  static let answerUUID = CBUUID(string: LockService.answerUUID)
  static let requestUUID = CBUUID(string: LockService.requestUUID)
  static let replyUUID = CBUUID(string: LockService.replyUUID)
  /// Device Information. Its firmware revision is read over an encrypted link (`AgentBond.swift`).
  static let informationUUID = CBUUID(string: "180A")
  static let firmwareRevisionUUID = CBUUID(string: "2A26")
  static let all = [offerUUID, commandUUID, quickCommandUUID, answerUUID, requestUUID, replyUUID]

  private(set) var offer: CBCharacteristic?
  private(set) var command: CBCharacteristic?
  private(set) var answer: CBCharacteristic?
  // An older lock does not have these.
  private(set) var quickCommand: CBCharacteristic?
  private(set) var request: CBCharacteristic?
  private(set) var reply: CBCharacteristic?

  /// Whether a command can be written and its answer heard.
  var isWhole: Bool { offer != nil && command != nil && answer != nil }

  init() {}

  private init(of service: CBService) {
    for characteristic in service.characteristics ?? [] {
      switch characteristic.uuid {
      case Self.offerUUID: offer = characteristic
      case Self.commandUUID: command = characteristic
      case Self.quickCommandUUID: quickCommand = characteristic
      case Self.answerUUID: answer = characteristic
      case Self.requestUUID: request = characteristic
      case Self.replyUUID: reply = characteristic
      default: break
      }
    }
  }

  /// Takes what has been discovered.
  mutating func find(in peripheral: CBPeripheral) {
    if let service = Self.service(of: peripheral) { self = Self(of: service) }
  }

  /// The lock's service: the first whole one, or the first if none is known to be whole.
  static func service(of peripheral: CBPeripheral) -> CBService? {
    let services = services(of: peripheral)
    return services.first { Self(of: $0).isWhole } ?? services.first
  }

  /// The service to be looked at if this one is not the lock's.
  static func service(after service: CBService, of peripheral: CBPeripheral) -> CBService? {
    services(of: peripheral).drop { $0 !== service }.dropFirst().first
  }

  /// Any app of the lock's machine may publish a service with the UUID of the lock's.
  private static func services(of peripheral: CBPeripheral) -> [CBService] {
    peripheral.services?.filter { $0.uuid == serviceUUID } ?? []
  }
}
