import LockCryptography
import Testing

@Suite("Names from outside") struct PlainTextTests {
  @Test("L5: a name from outside moves no cursor and turns nothing round") func plainNames() {
    #expect(PlainText.of(Array("Zoë's door 🚪".utf8)) == "Zoë's door 🚪")
    #expect(PlainText.of(Array("a\u{1B}[2Jb\u{9B}c\u{202E}d\ne\u{2028}f".utf8)) == "a[2Jbcdef")
    #expect(PlainText.of([0x61, 0xFF]) == "a\u{FFFD}")
    #expect(PlainText.isPlain("Ben") && !PlainText.isPlain("B\u{202E}en"))
  }
}
