import Foundation

/// The programs that a world runs: beside the running `latchkey` if it was built, or at the packages' paths if it is
/// installed.
package struct Executables: Sendable {
  private let programs: [String: String]
  let busDaemon: String

  package var latchkey: String { path("latchkey") }
  var daemon: String { path("latchkeyd") }
  var simulator: String { path("bluez-simulator") }
  func app(_ app: InstalledApp) -> String { path(app.executable) }

  private func path(_ name: String) -> String {
    guard let path = programs[name] else { preconditionFailure("\(name) was looked for when this was made") }
    return path
  }

  /// The folder of the running program.
  package static func ownFolder() throws -> String {
    do {
      let path = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      return URL(fileURLWithPath: path).deletingLastPathComponent().path
    } catch {
      throw WorldError(
        "the folder of this program is unknown, since /proc can't be read: \(error.localizedDescription)")
    }
  }

  /// - Parameter replacing: paths of replacement programs, by the names of those they replace.
  /// - Throws: `WorldError` that names what is missing and how to get it.
  package init(
    folder: String, replacing: [String: String] = [:],
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws {
    let names = ["latchkey", "latchkeyd", "bluez-simulator"] + InstalledApp.allCases.map(\.executable)
    // If installed, `latchkey` is in /usr/bin, and programs that are not called by hand are in /usr/libexec/latchkey.
    let beside = URL(fileURLWithPath: folder).deletingLastPathComponent()
      .appendingPathComponent("libexec/latchkey").path
    var programs: [String: String] = [:]
    for name in names {
      let paths = [replacing[name]].compactMap { $0 } + [folder, beside].map { "\($0)/\(name)" }
      programs[name] = paths.first(where: FileManager.default.isExecutableFile)
    }
    let missing = names.filter { programs[$0] == nil }
    guard missing.isEmpty else {
      throw WorldError(
        """
        missing in \(folder) and in \(beside): \(missing.joined(separator: ", ")). `swift build` (or `make demo`) makes \
        them, all in one folder; installed, they are in the packages latchkeyd, latchkey-lock, latchkey-agent and \
        bluez-simulator
        """)
    }
    self.programs = programs
    let folders = (environment["PATH"] ?? "").split(separator: ":").map(String.init) + ["/usr/bin", "/bin"]
    guard
      let busDaemon = folders.map({ "\($0)/dbus-daemon" }).first(where: FileManager.default.isExecutableFile(atPath:))
    else {
      throw WorldError("dbus-daemon is missing; install it with `apt-get install dbus` (Debian, Ubuntu)")
    }
    self.busDaemon = busDaemon
  }
}
