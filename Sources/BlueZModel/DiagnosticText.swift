import Radio

/// Text for people.
extension BlueZModel.Diagnostic: CustomStringConvertible {
  package var description: String {
    switch self {
    case .malformedAdvertisement(let address, let count):
      "a malformed advertisement from \(address), \(count) of them so far"
    case .unknownNotificationHandle(let device, let handle):
      "a notification from \(device) for handle 0x\(handle.fourDigits), which it does not have"
    case .malformedPDU(let device): "a malformed message from \(device)"
    case .encryptionFailed(let device): "encryption with \(device) failed: it has lost the key, or has another"
    case .pairingFailed(let device, let reason):
      "pairing with \(device) failed, reason 0x\(String(reason, radix: 16)) of the Security Manager"
    case .paired(let device): "paired with \(device)"
    case .radioRefused(let reason): "the radio refused: \(reason)"
    case .nothingToForget: "no pairings to remove"
    }
  }
}
