import Foundation
import ProcessTesting
import Testing

/// The man pages and `--help` name the same commands and options.
@Suite("Man pages and help", .timeLimit(.minutes(20)))
struct ManualTests {
  /// What a program reports of itself with `--experimental-dump-help`.
  private struct Dump: Decodable {
    struct Command: Decodable {
      var commandName: String
      var shouldDisplay: Bool
      var arguments: [Argument]?
      var subcommands: [Command]?
    }

    struct Argument: Decodable {
      struct Name: Decodable {
        var kind: String
        var name: String
      }
      var shouldDisplay: Bool
      var names: [Name]?
    }

    var command: Command
  }

  /// The long options of each command that a user sees, by its words: `["setup lock": ["phone"]]`.
  private static func options(_ command: Dump.Command, words: String = "") -> [String: Set<String>] {
    let names = (command.arguments ?? []).filter(\.shouldDisplay).flatMap { $0.names ?? [] }
      .filter { $0.kind == "long" }.map(\.name)
    var found = [words: Set(names).subtracting(["help", "version"])]
    for part in command.subcommands ?? [] where part.shouldDisplay && part.commandName != "help" {
      found.merge(options(part, words: words.isEmpty ? part.commandName : "\(words) \(part.commandName)")) { $1 }
    }
    // A command that only has parts is not used alone.
    if let parts = command.subcommands, !parts.isEmpty, !words.isEmpty { found[words] = nil }
    return found
  }

  private func help(_ program: String) async throws -> [String: Set<String>] {
    let outcome = try await TestProcess.run(LatchkeyCommand.programs + "/\(program)", ["--experimental-dump-help"])
    return Self.options(try JSONDecoder().decode(Dump.self, from: Data(outcome.output.utf8)).command)
  }

  private static func page(_ name: String) throws -> String {
    try String(contentsOfFile: "\(LatchkeyCommand.package)/docs/man/\(name)", encoding: .utf8)
  }

  private static func options(in text: some StringProtocol) -> Set<String> {
    Set(String(text).matches(of: /Fl Fl ([a-z][a-z-]*)/).map { String($0.1) }).subtracting(["help", "version"])
  }

  /// The options in the synopsis of each command. A command may have several lines there.
  static func synopsis(_ page: String) -> [String: Set<String>] {
    let part = page.components(separatedBy: ".Sh SYNOPSIS").last?.components(separatedBy: ".Sh DESCRIPTION").first ?? ""
    var found: [String: Set<String>] = [:]
    for use in part.components(separatedBy: "\n.Nm").dropFirst() {
      let line = use.split(separator: "\n").first { $0.hasPrefix(".Cm ") } ?? ""
      // `.Cm open | leave` is about both commands.
      for command in line.dropFirst(4).split(separator: "|") {
        let words = command.split(separator: " ").prefix { $0.allSatisfy { $0.isLowercase } }
        found[words.joined(separator: " "), default: []].formUnion(options(in: use))
      }
    }
    found["help"] = nil
    return found
  }

  @Test("A15: latchkey(1) has the same commands and options as latchkey --help, in its synopsis and in its text")
  func latchkey() async throws {
    let help = try await help("latchkey")
    let page = try Self.page("latchkey.1")
    let synopsis = Self.synopsis(page)
    for (command, options) in help where !command.isEmpty {
      #expect(synopsis[command] == options, "the synopsis of \(command)")
    }
    #expect(Set(synopsis.keys).subtracting([""]) == Set(help.keys).subtracting([""]))
    let text = page.components(separatedBy: ".Sh DESCRIPTION").last ?? ""
    let everywhere = help.values.reduce(into: Set<String>()) { $0.formUnion($1) }
    #expect(Self.options(in: text).isSuperset(of: everywhere), "\(everywhere.subtracting(Self.options(in: text)))")
    // Options of other programs are named with a program before them.
    let unknown = Self.options(in: text).subtracting(everywhere)
    #expect(unknown.isEmpty, "\(unknown)")
  }

  @Test(
    "A15: the daemons' man pages have the same options as their --help",
    arguments: [
      ("latchkeyd", "latchkeyd.8"), ("latchkey-lock", "latchkey-lock.8"), ("latchkey-agent", "latchkey-agent.8"),
      ("bluez-simulator", "bluez-simulator.1"),
    ])
  func daemons(_ program: String, _ page: String) async throws {
    let help = try await help(program).values.reduce(into: Set<String>()) { $0.formUnion($1) }
    let page = try Self.page(page)
    let parts = page.components(separatedBy: ".Sh DESCRIPTION")
    #expect(Self.options(in: parts[0]) == help, "the synopsis of \(program)")
    // `Fl Fl experimental` is an option of bluetoothd.
    #expect(Self.options(in: parts[1]).subtracting(["experimental"]) == help, "the text of \(program)")
  }

  @Test("A15: an option that is missing in a page is noticed")
  func noticed() {
    let page = """
      .Sh SYNOPSIS
      .Nm latchkey
      .Cm setup lock
      .Op Fl Fl phone Ar text
      .Nm latchkey
      .Cm bluetooth
      .Cm on | off
      .Nm latchkey
      .Cm status | apps
      .Sh DESCRIPTION
      """
    #expect(Self.synopsis(page) == ["setup lock": ["phone"], "bluetooth": [], "status": [], "apps": []])
  }
}
