import AppLink
import Foundation
import Testing

@Suite("Identifiers")
struct IdentifierTests {
  private let low = "00000000-0000-4000-8000-00000000000a"
  private let high = "0A000000-0000-4000-8000-000000000001"

  @Test("An identifier is encoded as its UUID, so that what was written before it was a type of its own is read")
  func encoding() throws {
    let uuid = try #require(UUID(uuidString: low))
    let text = try JSONEncoder().encode(["identifier": uuid])
    #expect(try JSONEncoder().encode(["identifier": PeerIdentifier(uuid)]) == text)
    #expect(
      try JSONDecoder().decode([String: LocalAttributeIdentifier].self, from: text)
        == ["identifier": LocalAttributeIdentifier(uuid)])
  }

  @Test("Identifiers are sorted as their texts are, which say the UUID")
  func order() throws {
    let identifiers = try [high, low].map { PeerIdentifier(try #require(UUID(uuidString: $0))) }
    #expect(identifiers.sorted() == identifiers.sorted { $0.uuidString < $1.uuidString })
    #expect("\(identifiers[1])" == low.uppercased())
  }
}
