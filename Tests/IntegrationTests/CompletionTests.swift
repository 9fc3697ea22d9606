import Foundation
import ProcessTesting
import Testing

/// The completions that the packages install, as a person at a terminal uses them in each shell.
@Suite("Completions", .serialized, .timeLimit(.minutes(20)))
struct CompletionTests {
  private static func isInstalled(_ shell: String) -> Bool {
    FileManager.default.isExecutableFile(atPath: "/usr/bin/\(shell)")
  }

  @Test("H7: bash completes a subcommand, an option and a scenario's name")
  func bash() async throws {
    try await check("bash", command: "bash --rcfile $folder/start -i", file: "latchkey.bash") { folder in
      """
      source \(folder)/latchkey.bash
      latchkey() { if [[ $1 == ---completion ]]; then command latchkey "$@"; else echo "ran <$*>"; fi }
      PS1='ready> '
      """
    }
  }

  @Test(
    "H7: zsh completes a subcommand, an option and a scenario's name",
    .enabled(if: isInstalled("zsh"), "zsh is not installed: apt install zsh"))
  func zsh() async throws {
    // zsh reads `.zshrc` in $ZDOTDIR. Debian's own start file would initialise completions a second time.
    try await check("zsh", command: "env ZDOTDIR=$folder zsh --no-globalrcs -i", file: "_latchkey") { folder in
      """
      fpath=(\(folder) $fpath); autoload -U compinit; compinit -u -D
      latchkey() { if [[ $1 == ---completion ]]; then command latchkey "$@"; else print -r "ran <$*>"; fi }
      PS1='ready> '
      """
    }
  }

  @Test(
    "H7: fish completes a subcommand, an option and a scenario's name",
    .enabled(if: isInstalled("fish"), "fish is not installed: apt install fish"))
  func fish() async throws {
    try await check("fish", command: "fish --no-config -i -C \"source $folder/start\"", file: "latchkey.fish") {
      folder in
      """
      function latchkey
        if test "$argv[1]" = ---completion; command latchkey $argv; else; echo "ran <$argv>"; end
      end
      source \(folder)/latchkey.fish
      function fish_prompt; echo 'ready> '; end
      """
    }
  }

  /// Types beginnings and tabs into a shell, and looks at what it runs.
  private func check(
    _ shell: String, command: String, file: String, start: (String) -> String
  ) async throws {
    let folder = NSTemporaryDirectory() + "/latchkey-completions-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let script = try await LatchkeyCommand.run(["--generate-completion-script", shell])
    #expect(script.status == 0 && script.errors.isEmpty)
    try script.output.write(toFile: "\(folder)/\(file)", atomically: true, encoding: .utf8)
    for name in ["start", ".zshrc"] {
      try start(folder).write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
    }
    var environment = TestProcess.inherited
    environment["PATH"] = LatchkeyCommand.programs + ":" + (environment["PATH"] ?? "/usr/bin:/bin")
    environment.merge([
      "LATCHKEY_SCENARIOS": LatchkeyCommand.package + "/config/scenarios", "TERM": "xterm", "LC_ALL": "C.UTF-8",
      "HOME": folder, "folder": folder,
    ]) { $1 }
    let terminal = try await TestProcess(
      "/usr/bin/script", ["--quiet", "--return", "--command", "stty cols 120 rows 30; exec \(command)", "/dev/null"],
      environment: environment)
    for (typed, run) in [
      ("latchkey wat\t--js\t\n", "watch --json"), ("latchkey setup und\t--forg\t\n", "setup undo --forget-keys"),
      ("latchkey prove days-a\t\n", "prove days-away"), ("latchkey bluetooth of\t\n", "bluetooth off"),
    ] {
      try await terminal.hear("ready> ")
      terminal.type(typed)
      let ran = try await terminal.hear("ran <")
      #expect(try await terminal.hear(">") == run + ">", "\(shell): \(ran)")
    }
    terminal.type("exit\n")
    #expect(try await terminal.finish().status == 0)
  }

  @Test("H7: the packages install the completions of all three shells where each looks for them")
  func packaged() throws {
    func text(_ path: String) throws -> String {
      try String(contentsOfFile: LatchkeyCommand.package + "/" + path, encoding: .utf8)
    }
    let (rules, installed) = try (text("packaging/debian/rules"), text("packaging/debian/latchkey.install"))
    let build = try text("scripts/build-packages")
    for (shell, place) in [
      ("bash", "usr/share/bash-completion/completions/latchkey"),
      ("zsh", "usr/share/zsh/vendor-completions/_latchkey"),
      ("fish", "usr/share/fish/vendor_completions.d/latchkey.fish"),
    ] {
      #expect(rules.contains("completions/latchkey.\(shell) debian/tmp/\(place)\n"))
      #expect(installed.split(separator: "\n").contains { place.hasPrefix($0 + "/") }, "\(place)")
      #expect(build.contains(/for shell in [a-z ]*\b/) && build.contains(shell))
    }
  }
}
