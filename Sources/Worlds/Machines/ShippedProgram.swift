import ChildProcesses
import Foundation

/// The program of a story's own app, as it was built on this machine. A virtual machine gets a copy, and copies of the libraries
/// that it lacks: an ordinary build needs those of Swift's runtime.
struct ShippedProgram {
  let path: String
  private let tools: MachineTools

  private static let folder = "/opt/latchkey-story"
  /// Where the libraries are on a virtual machine.
  static let libraries = "\(folder)/lib"
  /// Names the folders of libraries that come before all others (ld.so(8)).
  static let librariesVariable = "LD_LIBRARY_PATH"
  /// An emulated machine takes some megabytes a second.
  private static let limit: Duration = .seconds(900)

  init(_ path: String, _ tools: MachineTools) {
    self.path = path
    self.tools = tools
  }

  /// The libraries in what ldd(1) prints: their paths, by the names under which programs ask for them.
  static func libraries(in text: String) -> [String: String] {
    var found: [String: String] = [:]
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
      guard words.count >= 3, words[1] == "=>", words[2].hasPrefix("/") else { continue }
      found[words[0]] = words[2]
    }
    return found
  }

  /// The names of libraries in what `ldconfig -p` prints.
  static func known(in text: String) -> Set<String> {
    Set(text.split(separator: "\n").compactMap { $0.split(whereSeparator: \.isWhitespace).first.map(String.init) })
  }

  /// - Returns: the program's path on the machine.
  func bring(to machine: RemoteMachine, as name: String) throws -> String {
    let shell = machine.shell
    try shell.run("mkdir -p \(Self.libraries)")
    // A script has no libraries, and a program may be linked with all of them.
    let listed = try FinishedProcess.run(
      "ldd",
      ProcessStart(executable: tools.environment, arguments: ["ldd", path], environment: ["PATH": "/usr/bin:/bin"]),
      limit: .seconds(60))
    let needed = Self.libraries(in: listed?.end == .exited(0) ? listed?.output ?? "" : "")
    let there = Self.known(in: try shell.run("/sbin/ldconfig -p; ls \(Self.libraries)"))
    for (name, library) in needed.sorted(by: { $0.key < $1.key }) where !there.contains(name) {
      try shell.copy(file: library, to: "\(Self.libraries)/\(name)", limit: Self.limit)
    }
    let program = "\(Self.folder)/\(name)"
    try shell.copy(file: path, to: program, limit: Self.limit)
    try shell.run("chmod 755 \(SecureShell.quoted(program))")
    return program
  }
}
