import ArgumentParser
import ConsoleOutput
import Glibc

/// The errors for a person who typed an unknown command, or gave a command something that it can't use: what was wrong,
/// and what to type.
enum CommandNames {
  /// Ends with an error if a word is no known command. The parser would call it an unexpected argument of a command
  /// that takes none.
  static func refuseUnknown(_ arguments: [String]) {
    var command: ParsableCommand.Type = LatchkeyCommand.self
    var typed = ["latchkey"]
    for argument in arguments {
      let known = command.configuration.subcommands
      guard !known.isEmpty, !argument.hasPrefix("-"), typed.count > 1 || argument != "help" else { return }
      guard let next = known.first(where: { $0.configuration.commandName == argument }) else {
        let names = known.filter { $0.configuration.shouldDisplay }.compactMap { $0.configuration.commandName }
        Console.complain(complaint(argument, after: typed, names))
        exit(64)
      }
      command = next
      typed.append(argument)
    }
  }

  private static func complaint(_ argument: String, after typed: [String], _ known: [String]) -> String {
    let all = typed.joined(separator: " ")
    let what =
      typed.count == 1 ? "latchkey: There is no command \"\(argument)\"." : "\(all) has no command \"\(argument)\"."
    let similar = known.filter { distance($0, argument) <= max(1, argument.count / 3) }.map { "\(all) \($0)" }
    let choice =
      similar.isEmpty
      ? "It has: \(known.joined(separator: ", "))." : "Do you mean \(similar.joined(separator: ", or "))?"
    return "\(what) \(choice) \(all) --help says what each does."
  }

  /// How many letters must be changed, added or left out to make one word of the other.
  private static func distance(_ first: String, _ second: String) -> Int {
    let (first, second) = (Array(first), Array(second))
    var row = Array(0...second.count)
    for (line, letter) in first.enumerated() {
      var corner = row[0]
      row[0] = line + 1
      for (place, other) in second.enumerated() {
        let above = row[place + 1]
        row[place + 1] = min(above + 1, row[place] + 1, corner + (letter == other ? 0 : 1))
        corner = above
      }
    }
    return row[second.count]
  }

  /// Ends with an error of a command that finds only while it runs that it can't use its arguments. The parser no
  /// longer knows the command then, and would show the usage of `latchkey` itself.
  static func refuse(_ error: ValidationError, of command: ParsableCommand.Type) -> Never {
    Console.complain("Error: \(error.message)\nUsage: \(LatchkeyCommand.usageString(for: command))")
    exit(64)
  }
}
