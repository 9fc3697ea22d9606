import LockCryptography
import LockProtocol
import Testing

@Suite("Enrolment codes") struct EnrolmentCodeTests {
  @Test("L5: a code is read as people type it") func forgiving() throws {
    let code = try #require(EnrolmentCode(random: Array(0..<19)))
    #expect(code.words.hasPrefix("01234-56789-ABCDE-FGHJ"))
    let typed = code.words.lowercased().replacing("-", with: " ").replacing("0", with: "o").replacing("1", with: "l")
    for text in [code.words, typed, code.qrText, "  \(code.words)\n", "\(code.qrText.lowercased())\r\n"] {
      #expect(try EnrolmentCode(text) == code, "\(text)")
    }
    for text in ["", "01234", code.words + "0"] {
      #expect(throws: EnrolmentCodeError.wrongLength) { try EnrolmentCode(text) }
    }
    #expect(throws: EnrolmentCodeError.unknownSymbol) { try EnrolmentCode(code.words.replacing("0", with: "U")) }
    #expect(throws: EnrolmentCodeError.wrongLength) { try EnrolmentCode(String(repeating: "0", count: 100_000)) }
  }

  @Test("L5: one wrong symbol is noticed, and so are two that were exchanged") func check() throws {
    let alphabet = EnrolmentCode.alphabet
    for _ in 0..<3 {
      let text = Array(EnrolmentCode.draw().text.filter { $0 != UInt8(ascii: "-") })
      for place in text.indices {
        for symbol in alphabet where symbol != text[place] {
          var wrong = text
          wrong[place] = symbol
          #expect(throws: EnrolmentCodeError.mistyped) { try EnrolmentCode(reading: wrong) }
        }
        for other in text.indices where text[other] != text[place] {
          var wrong = text
          wrong.swapAt(place, other)
          #expect(throws: EnrolmentCodeError.mistyped) { try EnrolmentCode(reading: wrong) }
        }
      }
    }
  }

  @Test("L5: codes differ, and so do their secrets") func drawn() {
    let codes = (0..<100).map { _ in EnrolmentCode.draw() }
    #expect(Set(codes.map(\.words)).count == 100)
    #expect(Set(codes.map { $0.secret(using: SwiftCryptography.self) }).count == 100)
  }
}
