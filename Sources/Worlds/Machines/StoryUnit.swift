import Foundation
import JournalEvents

/// What an app of the story's own needs on a virtual machine: its declaration, a unit with a user of its own, and polkit's rule.
struct StoryUnit {
  let app: InstalledApp
  /// Every unit of this kind, for polkit.
  private static let prefix = "latchkey-story-"
  private static let user = "latchkey-story"
  private static let apps = "/usr/share/latchkey/apps"

  init(_ app: InstalledApp) { self.app = app }

  var name: String { "\(Self.prefix)\(app.name).service" }

  /// The unit's file.
  ///
  /// - Parameter program: its absolute path on the machine.
  func text(program: String, arguments: [String]) -> String {
    // `$$` is a plain `$`: systemd would otherwise replace a variable's name by its value.
    let command = ([program] + arguments).map { Self.word($0).replacing("$", with: "$$") }.joined(separator: " ")
    // The app's own folders of libraries come first.
    let libraries = [app.environment[ShippedProgram.librariesVariable], ShippedProgram.libraries].compactMap { $0 }
    let variables = app.environment.merging([
      "LATCHKEY_INFO_PLIST": "\(folder)/Info.plist", DelegateRecord.variable: DelegateRecord.journal,
      "LIBDISPATCH_LOG": "NO",
      ShippedProgram.librariesVariable: libraries.joined(separator: ":"),
    ]) { $1 }.sorted { $0.key < $1.key }
    return """
      [Unit]
      After=latchkeyd.service
      StartLimitIntervalSec=0
      CollectMode=inactive-or-failed

      [Service]
      Type=exec
      ExecStart=\(command)
      \(variables.map { "Environment=\(Self.word("\($0.key)=\($0.value)"))" }.joined(separator: "\n"))
      User=\(Self.user)
      StateDirectory=\(Self.prefix)\(app.name)
      SyslogIdentifier=\(app.name)
      Restart=no

      """
  }

  /// polkit's rule by which latchkeyd may start, freeze and end such units.
  static let rule = """
    polkit.addRule(function (action, subject) {
      if (action.id == "org.freedesktop.systemd1.manage-units" && subject.user == "latchkey" &&
          (action.lookup("unit") || "").indexOf("\(prefix)") == 0) return polkit.Result.YES;
    });

    """

  private var folder: String { "\(Self.apps)/\(app.bundleIdentifier)" }

  /// One word of a unit's line, quoted and escaped so that systemd reads no quote or specifier into it.
  private static func word(_ text: String) -> String {
    let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("%", with: "%%")
      .replacing("\n", with: "\\n")
    return "\"\(escaped)\""
  }

  /// The path of the program on the machine. A program that the machine's packages have installed comes first, and
  /// otherwise this machine's program is copied there.
  private func program(on machine: RemoteMachine, _ tools: MachineTools) throws -> String {
    if !app.executable.contains("/") {
      let found = try machine.shell.perform(
        "PATH=$PATH:/usr/libexec/latchkey command -v \(SecureShell.quoted(app.executable))")
      let program = found.output.trimmed(to: 4096)
      if found.end == .exited(0), program.hasPrefix("/") { return program }
    }
    return try ShippedProgram(try path(in: tools), tools).bring(to: machine, as: app.name)
  }

  /// Where its program is on this machine.
  func path(in tools: MachineTools) throws -> String {
    guard let path = tools.program(app.executable) else {
      throw WorldError(
        "the program '\(app.executable)' of the app '\(app.name)' is in none of Latchkey's packages, and neither beside this "
          + "program nor in $PATH; a path with a '/' in it counts from the scenario's folder")
    }
    return path
  }

  /// Installs the app. latchkeyd is restarted, because it reads the apps when it starts.
  func install(on machine: RemoteMachine, _ tools: MachineTools) throws {
    let shell = machine.shell
    let program = try program(on: machine, tools)
    let description = AppDescription(app, home: "/var/lib/\(Self.prefix)\(app.name)", machine: machine.name)
    let plist = try description.propertyList(executable: program, unit: name)
    let files = [
      ("\(folder)/Info.plist", String(decoding: plist, as: UTF8.self)),
      ("/etc/systemd/system/\(name)", text(program: program, arguments: description.arguments)),
      ("/etc/polkit-1/rules.d/51-latchkey-story.rules", Self.rule),
    ]
    try shell.run(
      "mkdir -p \(SecureShell.quoted(folder)) /etc/polkit-1/rules.d; "
        + "id \(Self.user) >/dev/null 2>&1 || useradd --system --no-create-home --shell /usr/sbin/nologin \(Self.user)")
    for (path, text) in files {
      try shell.run("printf %s \(SecureShell.quoted(text)) >\(SecureShell.quoted(path))")
    }
    try shell.run(
      "systemctl daemon-reload; systemctl try-restart polkit.service; systemctl restart \(RemoteMachine.daemonUnit)",
      limit: .seconds(180))
  }
}
