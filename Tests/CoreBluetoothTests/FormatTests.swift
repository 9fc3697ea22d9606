import CoreBluetooth
import Testing

@Suite("What a format prints")
struct FormatTests {
  private let uuid = CBUUID(string: "180A")

  @Test("C8: one object may be several arguments of a format, beside objects that only the format refers to")
  func repeated() {
    let text = String(format: "%@ %@ %@ %@", uuid, CBUUID(string: "6E400001-B5A3-F393-E0A9-E50E24DCCA9E"), uuid, uuid)
    #expect(text == "180A 6E400001-B5A3-F393-E0A9-E50E24DCCA9E 180A 180A")
  }

  @Test("C8: many threads may print one object at a time")
  func threads() async {
    let wrong = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        group.addTask { [uuid] in (0..<500).count { _ in String(format: "%@ %@", uuid, uuid) != "180A 180A" } }
      }
      return await group.reduce(0, +)
    }
    #expect(wrong == 0)
  }

  @Test("C8: an identifier and the strength of a signal are printed, as apps print them beside a peripheral")
  func identifiers() throws {
    let identifier = try #require(UUID(uuidString: "0F0E0D0C-0B0A-0908-0706-050403020100"))
    let strength: NSNumber = -71
    #expect(
      String(format: "%@ at %@, %d", identifier as CVarArg, strength, strength.intValue)
        == "0F0E0D0C-0B0A-0908-0706-050403020100 at -71, -71")
  }
}
