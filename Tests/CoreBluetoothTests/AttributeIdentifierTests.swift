import AppLink
import Foundation
import Testing

@testable import CoreBluetooth

/// Identifiers of published attributes.
@Suite("Identifiers of published attributes") struct AttributeIdentifierTests {
  @Test("A4: services sort in the order in which the app made them, however fast it makes them")
  func order() {
    let made = (0..<10_000).map { _ in AttributeIdentifiers.next() }
    #expect(made == made.sorted())
    #expect(Set(made).count == made.count)
    let service = CBMutableService(type: CBUUID(string: "180D"), primary: true)
    let characteristic = CBMutableCharacteristic(
      type: CBUUID(string: "2A37"), properties: [.read], value: nil, permissions: [.readable])
    #expect(made[9_999] < service.localIdentifier && service.localIdentifier < characteristic.localIdentifier)
  }

  @Test("A4: an identifier is a UUID of version 7, with the time in it and 62 random bits")
  func form() {
    let before = UInt64(Date().timeIntervalSince1970 * 1000)
    let identifiers = (0..<64).map { _ in AttributeIdentifiers.next().rawValue.uuid }
    #expect(identifiers.allSatisfy { $0.6 >> 4 == 7 && $0.8 >> 6 == 0b10 })
    let times = identifiers.map { bytes in
      [bytes.0, bytes.1, bytes.2, bytes.3, bytes.4, bytes.5].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
    // Others of this process may have used up some of the milliseconds to come.
    #expect(times.allSatisfy { (before..<before + 60_000).contains($0) })
    #expect(Set(identifiers.map { "\($0.9) \($0.10) \($0.11) \($0.12) \($0.13) \($0.14) \($0.15)" }).count == 64)
  }
}
