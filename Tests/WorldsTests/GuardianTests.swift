import Foundation
import Glibc
import ProcessTesting
import Testing

@testable import Worlds

/// A world without an orchestrator: the guardian's program, and stand-ins that wait for input on a pipe.
@Suite("The guardian", .serialized)
struct GuardianTests {
  /// A process that lives until it is killed or its standard input closes.
  private func standIn(world: String, script: String = "exec cat") async throws -> TestProcess {
    try await TestProcess(
      "/bin/sh", ["-c", script],
      environment: ["PATH": "/usr/bin:/bin", WorldProcesses.worldVariable: world, "LATCHKEY_MACHINE": "m"])
  }

  @Test("H1: when the orchestrator is gone, every process of its world ends, stopped ones and grandchildren too")
  func endsTheWorld() async throws {
    let folder = try RunFolder(keep: nil)
    let other = try RunFolder(keep: nil)
    let plain = try await standIn(world: folder.world)
    let stopped = try await standIn(world: folder.world)
    stopped.signal(SIGSTOP)
    // Its child survives when it is killed, and ignores all signals that can be ignored.
    let family = try await standIn(world: folder.world, script: "trap '' TERM HUP INT; cat; cat")
    let stranger = try await standIn(world: other.world)
    let guardian = try await TestProcess(
      TestPlaces.programs + "/latchkey", ["guard", "--world", folder.world, "--folder", folder.sockets])
    #expect(WorldProcesses(world: folder.world).all().count >= 3)

    #expect(try await guardian.finish().status == 0)
    for process in [plain, stopped, family] { #expect(try await process.finish().status == SIGKILL) }
    #expect(WorldProcesses(world: folder.world).all().isEmpty)
    #expect(!FileManager.default.fileExists(atPath: folder.sockets))
    #expect(stranger.isRunning)
    #expect(FileManager.default.fileExists(atPath: other.sockets))
    try RunFolder.remove(other.sockets, world: other.world)
  }

  @Test("H1: the guardian removes no folder but its world's")
  func leavesOtherFolders() throws {
    let folder = try RunFolder(keep: nil)
    #expect(throws: WorldError.self) { try RunFolder.remove(folder.sockets, world: "another") }
    #expect(throws: WorldError.self) {
      try RunFolder.remove(FileManager.default.currentDirectoryPath, world: folder.world)
    }
    #expect(FileManager.default.fileExists(atPath: folder.sockets))
    try RunFolder.remove(folder.sockets, world: folder.world)
    #expect(!FileManager.default.fileExists(atPath: folder.sockets))
  }
}

@Suite("A run's folder")
struct RunFolderTests {
  @Test("H1: a folder for its owner only")
  func permissions() throws {
    let folder = try RunFolder(keep: nil)
    defer { try? RunFolder.remove(folder.sockets, world: folder.world) }
    var status = stat()
    #expect(stat(folder.sockets, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o700)
  }

  @Test("H1: a folder of another run, or with anything in it, is refused and stays as it is")
  func occupied() throws {
    let first = try RunFolder(keep: nil)
    defer { try? RunFolder.remove(first.sockets, world: first.world) }
    let kept = first.sockets + "/kept"
    let second = try RunFolder(keep: kept)
    defer { try? RunFolder.remove(second.sockets, world: second.world) }
    #expect(second.files == kept)
    let taken = #expect(throws: WorldError.self) { try RunFolder(keep: kept) }
    #expect(taken?.description.contains("another run") == true)
    let file = first.sockets + "/file"
    #expect(FileManager.default.createFile(atPath: file, contents: nil))
    #expect(throws: WorldError.self) { try RunFolder(keep: file) }
    try FileManager.default.createDirectory(atPath: first.sockets + "/full/y", withIntermediateDirectories: true)
    let full = #expect(throws: WorldError.self) { try RunFolder(keep: first.sockets + "/full") }
    #expect(full?.description.contains("not empty") == true)
  }

  @Test("H1: missing programs and a missing dbus-daemon are named, with what brings them")
  func missing() throws {
    let empty = try RunFolder(keep: nil)
    defer { try? RunFolder.remove(empty.sockets, world: empty.world) }
    let error = #expect(throws: WorldError.self) { try Executables(folder: empty.sockets) }
    #expect(error?.description.contains("latchkeyd") == true)
    #expect(error?.description.contains("swift build") == true)
  }
}
