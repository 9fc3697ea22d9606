/// The command that starts a driver: a program and its arguments, separated by spaces. Quotes and backslashes keep spaces
/// together, as in a shell, but no shell is involved.
struct DriverCommand: Equatable {
  let program: String
  let arguments: [String]

  static let maximumByteCount = 4096

  init(_ text: String) throws(MechanismError) {
    guard text.utf8.count <= Self.maximumByteCount else {
      throw MechanismError(description: "a driver's command has at most \(Self.maximumByteCount) bytes")
    }
    var words: [String] = []
    var word: String?
    var quote: Character?
    var isEscaped = false
    for character in text {
      if isEscaped {
        word = (word ?? "") + String(character)
        isEscaped = false
      } else if character == "\\", quote != "'" {
        isEscaped = true
      } else if let open = quote {
        if character == open { quote = nil } else { word = (word ?? "") + String(character) }
      } else if character == "'" || character == "\"" {
        quote = character
        word = word ?? ""
      } else if character == " " || character == "\t" || character == "\n" {
        if let word { words.append(word) }
        word = nil
      } else {
        word = (word ?? "") + String(character)
      }
    }
    guard quote == nil, !isEscaped else {
      throw MechanismError(description: "the driver's command has a quote or a backslash without its end: \(text)")
    }
    if let word { words.append(word) }
    guard let program = words.first, !program.isEmpty else {
      throw MechanismError(description: "the driver's command is empty: give a program and its arguments")
    }
    self.program = program
    arguments = Array(words.dropFirst())
  }
}
