import Foundation
import Testing

@testable import Worlds

/// What the packages' programs write must be what they read. `scripts/build-packages` tells a story with them, because only
/// they have Foundation linked into them.
@Suite struct WrittenPropertyListTests {
  @Test("H6: an app's Info.plist keeps the kinds of its values when a story writes it again")
  func kinds() throws {
    let text = """
      <plist version="1.0"><dict><key>array</key><array><string>x</string></array><key>yes</key><true/><key>no</key><false/>
      <key>date</key><date>2026-01-01T00:00:00Z</date><key>one</key><integer>1</integer><key>zero</key><integer>0</integer>
      <key>real</key><real>1.5</real><key>data</key><data>AAEC</data>
      <key>inner</key><dict><key>text</key><string>1</string></dict></dict></plist>
      """
    let read = try #require(
      PropertyListSerialization.propertyList(from: Data(text.utf8), format: nil) as? [String: Any])
    let written = String(decoding: try WrittenPropertyList.data(read), as: UTF8.self)
    let lines = written.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.joined()
    for part in [
      "<key>array</key><array><string>x</string></array>", "<key>yes</key><true/>", "<key>no</key><false/>",
      "<key>date</key><date>2026-01-01T00:00:00Z</date>", "<key>one</key><integer>1</integer>",
      "<key>zero</key><integer>0</integer>", "<key>real</key><real>1.5</real>", "<key>data</key><data>AAEC</data>",
      "<key>inner</key><dict><key>text</key><string>1</string></dict>",
    ] {
      #expect(lines.contains(part), "\(part) is not in \(lines)")
    }
  }

  @Test("H6: what no property list can have is refused with its key")
  func refused() {
    #expect(throws: WrittenPropertyList.Unwritable(description: "'key' has a value that no property list can have")) {
      try WrittenPropertyList.data(["key": URL(fileURLWithPath: "/")])
    }
  }

  @Test("H6: the lock's own description says that it is kept alive")
  func own() throws {
    let keys = try #require(
      PropertyListSerialization.propertyList(from: InstalledApp.lock.propertyList, format: nil) as? [String: Any])
    #expect(
      keys["LatchkeyKeepAlive"] as? Bool == true && keys["UIBackgroundModes"] as? [String] == ["bluetooth-peripheral"])
  }
}
