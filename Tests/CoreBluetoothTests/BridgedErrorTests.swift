import CoreBluetooth
import Testing

@Suite("Errors as values")
struct BridgedErrorTests {
  /// A state of an app, as a view compares it.
  private enum Phase: Hashable {
    case lost(CBError)
    case refused(CBATTError)
  }

  @Test("C8: errors are members of sets, and parts of an app's hashable states")
  func hashing() {
    #expect(Set([CBError(.connectionTimeout), CBError(.connectionTimeout), CBError(.unknown)]).count == 2)
    #expect(CBATTError(.invalidHandle).hashValue == CBATTError(.invalidHandle).hashValue)
    let phases: Set<Phase> = [.lost(CBError(.connectionFailed)), .refused(CBATTError(.invalidOffset))]
    #expect(phases.contains(.lost(CBError(.connectionFailed))))
    #expect(!phases.contains(.lost(CBError(.unknown))))
  }

  @Test("C8: a code that has no name is an unknown error, and matches no other code")
  func unnamed() {
    let error: any Error = NSError(domain: CBErrorDomain, code: 999)
    #expect((error as? CBError)?.code == .unknown)
    #expect((error as? CBError)?.errorCode == 999)
    if case CBError.connectionTimeout = error { Issue.record("it is no timeout") }
    if case CBError.unknown = error { Issue.record("its number is another") }
    let timeout: any Error = NSError(domain: CBErrorDomain, code: 6)
    if case CBError.connectionTimeout = timeout { return }
    Issue.record("a timeout is one")
  }
}
