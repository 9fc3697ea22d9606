import ConsoleOutput
import Testing

@Suite("Text on a terminal")
struct TerminalTests {
  @Test("A15: lines fit, broken between words, and a word that is too long is broken itself", arguments: [20, 40, 80])
  func wraps(width: Int) {
    let terminal = Terminal(width: width)
    let text = "the bolt is unlocked as the phone asked B126F569-34D9-4140-A7AD-42CD26D0FF85 and so on"
    let lines = terminal.wrapped(text)
    #expect(lines.allSatisfy { $0.count <= width }, "\(lines)")
    // Nothing is lost but the spaces.
    #expect(lines.joined().filter { $0 != " " } == text.filter { $0 != " " })
    #expect(terminal.wrapped("") == [""])
  }

  @Test("A15: the lines below a beginning are indented, and less so where there is no room")
  func hanging() {
    #expect(
      Terminal(width: 40).hanging("  kept  ", "one two three four five six seven eight") == [
        "  kept  one two three four five six", "        seven eight",
      ])
    let narrow = Terminal(width: 30).hanging("0d 00:00:00.0  phone  > ", "the owner leaves the house")
    #expect(narrow == ["0d 00:00:00.0 phone >", "    the owner leaves the house"])
    #expect(Terminal.plain.hanging("  ", String(repeating: "long ", count: 50)).count == 1)
  }

  @Test("A15: colours are only for terminals that have them")
  func colours() {
    #expect(Terminal(width: 80, usesColor: true).styled("a", .red) == "\u{1B}[31ma\u{1B}[0m")
    #expect(Terminal(width: 80).styled("a", .red) == "a")
    #expect(Terminal.plain.styled("a", .bold, .red) == "a")
  }

  @Test("A15: a terminal without a width is at least 20 columns wide, and a status line is shorter than the line")
  func least() {
    #expect(Terminal(width: 1).width == 20)
    #expect(Terminal(width: 20).cut("123456789012345678901234567890").count < 20)
    #expect(Terminal(width: 20).cut("short") == "short")
  }
}
