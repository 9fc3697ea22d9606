import Foundation
import ProcessTesting
import Testing

/// The packages' lists of files, against what their source has. Only `make deb` builds them.
@Suite("Package files")
struct PackageFileTests {
  /// Folders with the programs and with what the programs write about themselves.
  private static let built = [
    "usr/bin/", "usr/libexec/", "usr/share/bash-completion", "usr/share/fish", "usr/share/zsh",
  ]

  @Test("H3: a package's source has everything that is installed, and a package for each file")
  func sourceIsComplete() async throws {
    let files = FileManager.default
    let folder = files.temporaryDirectory.appendingPathComponent("latchkey-\(UUID().uuidString)")
    let (source, root) = (folder.appendingPathComponent("source"), folder.appendingPathComponent("root"))
    for one in [source, root] { try files.createDirectory(at: one, withIntermediateDirectories: true) }
    defer { try? files.removeItem(at: folder) }
    let copied = try await TestProcess.run(Places.package + "/scripts/copy-installables", [source.path])
    #expect(copied.status == 0, "\(copied.errors)")
    let installed = try await TestProcess.run(source.path + "/scripts/install-config.sh", [root.path])
    #expect(installed.status == 0, "\(installed.errors)")

    let debian = Places.package + "/packaging/debian"
    let lists = try files.contentsOfDirectory(atPath: debian).filter { $0.hasSuffix(".install") }
    #expect(!lists.isEmpty)
    let entries = try lists.flatMap {
      try String(contentsOfFile: "\(debian)/\($0)", encoding: .utf8).split(separator: "\n").map(String.init)
    }.filter { entry in !Self.built.contains { entry.hasPrefix($0) } }
    for entry in entries { #expect(files.fileExists(atPath: "\(root.path)/\(entry)"), "\(entry) is not installed") }
    for file in try files.subpathsOfDirectory(atPath: root.path) {
      var isFolder: ObjCBool = false
      guard files.fileExists(atPath: "\(root.path)/\(file)", isDirectory: &isFolder), !isFolder.boolValue else {
        continue
      }
      #expect(entries.contains { file == $0 || file.hasPrefix($0 + "/") }, "no package has \(file)")
    }
  }
}
