import BluetoothSystem
import Foundation
import Glibc
import Testing

@testable import LatchkeyDaemon

@Suite("Apps as child processes", .timeLimit(.minutes(20)))
struct SupervisorTests {
  private func supervisor(log: String? = nil) throws -> ChildProcessSupervisor {
    try ChildProcessSupervisor(environment: { _ in ["GREETING": "hello"] }, logPath: { _ in log })
  }

  private func app(_ script: String) -> InstalledApp {
    InstalledApp(
      declaration: AppDeclaration(bundleIdentifier: "org.example.app"), executable: "/bin/sh",
      arguments: ["-c", script], infoPlist: "")
  }

  @Test("An app's end is reported once, with how it ended; its environment and its log are its own")
  func end() async throws {
    let folder = try TemporaryFolder()
    let supervisor = try supervisor(log: folder.path + "/log")
    defer { supervisor.close() }
    let process = try #require(
      try supervisor.launch(app("echo $GREETING $HOME; exit 3"), LaunchOptions(reason: .opened)))
    var news = supervisor.news.makeAsyncIterator()
    let end = await news.next()
    #expect(end == .ended(ProcessEnd(bundleIdentifier: "org.example.app", process: process, how: "exit 3")))
    #expect(try String(contentsOfFile: folder.path + "/log", encoding: .utf8) == "hello\n")
  }

  @Test("Suspended, resumed, killed")
  func signals() async throws {
    let supervisor = try supervisor()
    defer { supervisor.close() }
    let process = try #require(try supervisor.launch(app("exec sleep 1000"), LaunchOptions(reason: .opened)))
    var information = siginfo_t()
    supervisor.suspend("org.example.app", process)
    #expect(waitid(P_PID, id_t(process.processIdentifier), &information, WSTOPPED) == 0)
    supervisor.resume("org.example.app", process)
    #expect(waitid(P_PID, id_t(process.processIdentifier), &information, WCONTINUED) == 0)
    supervisor.kill("org.example.app", process)
    var news = supervisor.news.makeAsyncIterator()
    #expect(
      await news.next()
        == .ended(ProcessEnd(bundleIdentifier: "org.example.app", process: process, how: "signal 9")))
  }

  @Test("A process that is gone, or whose number is another's by now, is adopted as ended and never signalled")
  func adoption() async throws {
    let supervisor = try supervisor()
    defer { supervisor.close() }
    var news = supervisor.news.makeAsyncIterator()
    var mistaken = try ProcessIdentity.of(getpid())
    mistaken.startTicks += 1
    supervisor.kill("org.example.app", mistaken)
    supervisor.adopt("org.example.app", mistaken)
    #expect(
      await news.next()
        == .ended(ProcessEnd(bundleIdentifier: "org.example.app", process: mistaken, how: "gone")))
  }

  @Test("A successor adopts a running app and learns of its end")
  func succession() async throws {
    let first = try supervisor()
    let process = try #require(try first.launch(app("exec sleep 1000"), LaunchOptions(reason: .opened)))
    let second = try supervisor()
    defer {
      first.close()
      second.close()
    }
    second.adopt("org.example.app", process)
    var news = second.news.makeAsyncIterator()
    second.kill("org.example.app", process)
    guard case .ended(let end) = await news.next() else {
      Issue.record("no end")
      return
    }
    #expect(end.process == process)
  }

  @Test("A program that is not there is an error that names it")
  func missing() throws {
    let supervisor = try supervisor()
    defer { supervisor.close() }
    var app = app("")
    app.executable = "/nowhere"
    #expect(throws: DaemonError.self) { try supervisor.launch(app, LaunchOptions(reason: .opened)) }
  }
}
