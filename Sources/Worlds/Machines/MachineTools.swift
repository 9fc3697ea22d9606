import Foundation

/// What a run on machines needs on this one.
package struct MachineTools: Sendable {
  /// The program that watches over the run's processes.
  package let latchkey: String
  let ssh: String
  let environment: String
  /// Where programs of a story's own apps are looked for: beside this program, then as a shell does.
  private let folders: [String]
  /// The package's root, for the scripts of the virtual machines.
  let package: String?

  /// - Parameter folder: the running program's folder.
  /// - Throws: `WorldError` that names what is missing and how to get it.
  package init(folder: String, environment: [String: String] = ProcessInfo.processInfo.environment) throws {
    latchkey = "\(folder)/latchkey"
    guard FileManager.default.isExecutableFile(atPath: latchkey) else {
      throw WorldError("missing: \(latchkey). `swift build` makes it")
    }
    ssh = try Self.find("ssh", "openssh-client", environment)
    self.environment = try Self.find("env", "coreutils", environment)
    package = Self.package(from: folder)
    let paths = (environment["PATH"] ?? "").split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
    folders = [folder] + paths
  }

  /// The path of an app's program on this machine, or `nil` if there is none.
  func program(_ executable: String) -> String? {
    let paths = executable.hasPrefix("/") ? [executable] : folders.map { "\($0)/\(executable)" }
    return paths.first(where: Executables.isProgram)
  }

  static func find(_ program: String, _ debianPackage: String, _ environment: [String: String]) throws -> String {
    let folders = (environment["PATH"] ?? "").split(separator: ":").map(String.init) + ["/usr/bin", "/bin"]
    guard
      let path = folders.map({ "\($0)/\(program)" }).first(where: FileManager.default.isExecutableFile(atPath:))
    else {
      throw WorldError("there is no \(program): `apt-get install \(debianPackage)` (Debian, Ubuntu) brings it")
    }
    return path
  }

  /// The build folder is in the package, at most four levels up (.build/TRIPLE/release/latchkey).
  private static func package(from folder: String) -> String? {
    var candidates = [URL(fileURLWithPath: FileManager.default.currentDirectoryPath)]
    var folder = URL(fileURLWithPath: folder)
    for _ in 0..<5 {
      candidates.append(folder)
      folder.deleteLastPathComponent()
    }
    return candidates.map(\.path).first {
      FileManager.default.isExecutableFile(atPath: "\($0)/scripts/vm/run-machine")
    }
  }

  /// Where `make deb` puts Latchkey's packages.
  var packages: String? { package.map { "\($0)/.build/packages" } }

  func script(_ name: String) throws -> String {
    guard let package else {
      throw WorldError("virtual machines need scripts/vm of Latchkey's sources: run this in its folder")
    }
    return "\(package)/scripts/vm/\(name)"
  }
}
