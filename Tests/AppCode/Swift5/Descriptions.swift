// swift-format-ignore-file: AvoidRetroactiveConformances, AlwaysUseLowerCamelCase

// The kind of code that logs and shows Core Bluetooth's values: names for every case, and sets of properties as text.
import CoreBluetooth

extension CBManagerState: @retroactive CustomStringConvertible {
  public var description: String {
    switch self {
    case .unknown: return "unknown"
    case .resetting: return "resetting"
    case .unsupported: return "unsupported"
    case .unauthorized: return "unauthorized"
    case .poweredOff: return "poweredOff"
    case .poweredOn: return "poweredOn"
    @unknown default: return "other"
    }
  }
}

extension CBPeripheralState: @retroactive CustomStringConvertible {
  public var description: String {
    switch self {
    case .disconnected: "disconnected"
    case .connecting: "connecting"
    case .connected: "connected"
    case .disconnecting: "disconnecting"
    @unknown default: "state \(rawValue)"
    }
  }
}

extension CBCharacteristicProperties: @retroactive CustomStringConvertible, @retroactive CaseIterable {
  public static var allCases: [CBCharacteristicProperties] {
    [
      .broadcast, .read, .writeWithoutResponse, .write, .notify, .indicate, .authenticatedSignedWrites,
      .extendedProperties, .notifyEncryptionRequired, .indicateEncryptionRequired,
    ]
  }

  public var description: String {
    let names: [(CBCharacteristicProperties, String)] = [(.read, "read"), (.write, "write"), (.notify, "notify")]
    return names.filter { contains($0.0) }.map { $0.1 }.joined(separator: ", ")
  }
}

public func message(for authorization: CBManagerAuthorization) -> String? {
  switch authorization {
  case .allowedAlways: return nil
  case .notDetermined: return "The user has not been asked yet."
  case .denied: return "The user refused."
  case .restricted: return "A policy forbids Bluetooth."
  @unknown default: return "unknown (\(authorization.rawValue))"
  }
}

/// Complete without a default.
public func text(for code: CBATTError.Code) -> String {
  switch code {
  case .success: return "success"
  case .invalidHandle, .invalidPdu, .invalidOffset, .attributeNotFound, .attributeNotLong: return "protocol"
  case .readNotPermitted, .writeNotPermitted, .requestNotSupported: return "not possible"
  case .insufficientAuthentication, .insufficientAuthorization, .insufficientEncryption,
    .insufficientEncryptionKeySize:
    return "not trusted"
  case .prepareQueueFull, .insufficientResources, .invalidAttributeValueLength: return "too much"
  case .unlikelyError, .unsupportedGroupType: return "unlikely"
  @unknown default: return "application error 0x\(String(code.rawValue, radix: 16))"
  }
}

public func text(for error: Error?) -> String {
  guard let error = error else { return "" }
  if let error = error as? CBError {
    switch error.code {
    case .connectionTimeout, .peripheralDisconnected: return "link lost"
    case .connectionLimitReached, .outOfSpace: return "full"
    case .peerRemovedPairingInformation, .encryptionTimedOut: return "pair again"
    default: return "error \(error.errorCode): \(error.localizedDescription)"
    }
  }
  if let error = error as? CBATTError { return text(for: error.code) }
  let bridged = error as NSError
  return "\(bridged.domain) \(bridged.code) \(bridged.userInfo[NSLocalizedDescriptionKey] as? String ?? "")"
}

/// The codes of an application, which have no names.
extension CBATTError.Code {
  public static var wrongCheckSum: CBATTError.Code { CBATTError.Code(rawValue: 0x81) ?? .unlikelyError }
}
