import Dispatch
import Glibc
import ProcessTesting
import Testing

@Suite("A test's processes", .timeLimit(.minutes(20)))
struct TestProcessTests {
  @Test("H5: the output, errors and exit status of a process are returned")
  func outcome() async throws {
    let exited = try await TestProcess.run(
      "/bin/sh", ["-c", "echo $GREETING; echo no >&2; exit 3"], adding: ["GREETING": "yes"])
    #expect(exited.status == 3)
    #expect(exited.output == "yes\n")
    #expect(exited.errors == "no\n")
    let process = try await TestProcess("/bin/cat")
    #expect(process.isRunning)
    process.signal(SIGKILL)
    #expect(try await process.finish().status == SIGKILL)
    #expect(!process.isRunning)
  }

  @Test("H5: a dialogue with a process works, and waiting for missing output fails with all its output")
  func conversation() async throws {
    let process = try await TestProcess("/bin/cat", mergesErrors: true)
    #expect(try await process.ask("a first line", "first") == "a first")
    #expect(try await process.ask("a second", "second") == " line\na second")
    process.closeInput()
    let failure = await #expect(throws: TestProcess.Failure.self) { try await process.hear("third") }
    #expect(failure?.description.contains("a first line") == true)
    #expect(try await process.finish().status == 0)
  }

  @Test("H5: a program that is not there is named")
  func missing() async throws {
    let failure = await #expect(throws: TestProcess.Failure.self) { try await TestProcess("/nowhere/program") }
    #expect(failure?.description.contains("/nowhere/program") == true)
  }

  @Test("H5: no process of the tests has another's descriptors")
  func descriptors() async throws {
    // A descriptor that stays open on exec, as another test's might.
    var ends: [Int32] = [-1, -1]
    #expect(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    let listed = try await TestProcess.run("/bin/sh", ["-c", "echo /proc/$$/fd/*"])
    #expect(
      listed.output.split(separator: " ").compactMap { Int($0.split(separator: "/").last ?? "") }.allSatisfy { $0 < 3 })
  }

  @Test("H5: a process ends with its object")
  func ends() async throws {
    let pipe = try await TestProcess("/bin/cat")
    var process: TestProcess? = try await TestProcess(
      "/bin/sh", ["-c", "exec 3<>/proc/\(pipe.processIdentifier)/fd/0; echo ready; exec sleep 1000"])
    try await process?.hear("ready")
    pipe.closeInput()
    process = nil
    // It ends after the other process, which holds its input open, has ended.
    #expect(try await pipe.finish().status == 0)
  }
}

@Suite("Tests that block", .timeLimit(.minutes(20)))
struct OwnThreadTests {
  private static let gate = DispatchSemaphore(value: 0)
  /// More than any machine has threads for tasks.
  private static let count = 2 * sysconf(Int32(_SC_NPROCESSORS_ONLN)) + 2

  @Test("H5: tests that block are not in each other's way")
  func block() async throws {
    let test = try #require(Test.current)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<Self.count {
        group.addTask {
          try await OwnThreadTrait.ownThread.provideScope(for: test, testCase: Test.Case.current) { Self.wait(number) }
        }
      }
      try await group.waitForAll()
    }
  }

  /// All of them must be here at once, or none ever finishes.
  private static func wait(_ number: Int) {
    if number == count - 1 {
      for _ in 1..<count { gate.signal() }
    } else {
      #expect(gate.wait(timeout: .now() + 50) == .success)
    }
  }
}
