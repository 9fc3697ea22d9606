import Foundation
import Glibc

/// The programs that a world runs: beside the running `latchkey` if it was built, or at the packages' paths if it is
/// installed.
package struct Executables: Sendable {
  private let programs: [String: String]
  let busDaemon: String
  /// The library that gives a story's apps the story's time, or `nil` if it is missing, as with older installations.
  /// Without it, only an app that uses `WorldClock` takes the story's time.
  let storyTime: String?
  /// Where the programs of a scenario's own apps are looked for: beside this program, then as a shell does.
  private let folders: [String]

  package var latchkey: String { path("latchkey") }
  var daemon: String { path("latchkeyd") }
  var simulator: String { path("bluez-simulator") }

  /// The program of an app.
  ///
  /// - Throws: `WorldError` that names the folders in which it was looked for.
  package func app(_ app: InstalledApp) throws -> String {
    if app.executable.hasPrefix("/") {
      guard Self.isProgram(app.executable) else {
        throw WorldError("the program of the app '\(app.name)', \(app.executable), is not a file that can be run")
      }
      return app.executable
    }
    if let path = programs[app.executable] { return path }
    guard let path = folders.map({ "\($0)/\(app.executable)" }).first(where: Self.isProgram) else {
      throw WorldError(
        "the program '\(app.executable)' of the app '\(app.name)' is in none of \(folders.joined(separator: ", ")); "
          + "a path with a '/' in it counts from the scenario's folder")
    }
    return path
  }

  /// A folder may be entered, but it is no program.
  static func isProgram(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder.boolValue
      && FileManager.default.isExecutableFile(atPath: path)
  }

  private func path(_ name: String) -> String {
    guard let path = programs[name] else { preconditionFailure("\(name) was looked for when this was made") }
    return path
  }

  /// The file of the product `latchkey-story-time`.
  package static let storyTimeLibrary = "liblatchkey-story-time.so"

  /// Whether this program, and so also the library, was built with a sanitizer. Such a library can't be used, because
  /// every program that an app starts would need the sanitizer.
  private static var isSanitized: Bool {
    dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil
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
    let names = ["latchkey", "latchkeyd", "bluez-simulator"] + InstalledApp.own.map(\.executable)
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
    storyTime = [folder, beside].map { "\($0)/\(Self.storyTimeLibrary)" }.first {
      !Self.isSanitized && FileManager.default.isReadableFile(atPath: $0)
    }
    let paths = (environment["PATH"] ?? "").split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
    self.folders = [folder, beside] + paths
    guard
      let busDaemon = (paths + ["/usr/bin", "/bin"]).map({ "\($0)/dbus-daemon" }).first(
        where: FileManager.default.isExecutableFile(atPath:))
    else {
      throw WorldError("dbus-daemon is missing; install it with `apt-get install dbus` (Debian, Ubuntu)")
    }
    self.busDaemon = busDaemon
  }
}
