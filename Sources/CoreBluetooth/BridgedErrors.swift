import Foundation

// Errors are members of sets, and parts of an app's own hashable states. Foundation's `NSError.hash`, which a bridged error has by
// default, never returns on Linux: swift-corelibs-foundation calls it again by way of Core Foundation. Equal errors have equal codes.

extension CBError {
  public func hash(into hasher: inout Hasher) { hasher.combine(_nsError.code) }
  public var hashValue: Int { hashed(self) }
}

extension CBATTError {
  public func hash(into hasher: inout Hasher) { hasher.combine(_nsError.code) }
  public var hashValue: Int { hashed(self) }
}

private func hashed(_ error: some Hashable) -> Int {
  var hasher = Hasher()
  error.hash(into: &hasher)
  return hasher.finalize()
}

// An app, or a test of it, may make an `NSError` of Core Bluetooth's domain with a code that has no name here. Foundation's `code`
// would end the program, and so would every pattern that the error is compared with.

extension CBError {
  /// What went wrong; `unknown` if the error's number is none of the named codes.
  public var code: Code { Code(rawValue: _nsError.code) ?? .unknown }
}

/// Matches an error that has this code, as in `catch CBError.connectionTimeout`.
public func ~= (code: CBError.Code, error: any Error) -> Bool {
  guard let error = error as? CBError else { return false }
  return error._nsError.code == code.rawValue
}
