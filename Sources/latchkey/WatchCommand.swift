import AppLinkBus
import ArgumentParser
import ConsoleOutput
import Foundation
import MachinePresentation

struct WatchCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch", abstract: "Shows what happens on this machine, on the whole terminal, until q is pressed.",
    discussion: """
      Shows what needs attention, links, requests, apps and their last wakes, and follows every change. Goes on when \
      latchkeyd was away and is back. Exits with 0 after q, with 64 if the output is no terminal, with 1 if latchkeyd \
      refuses, and with 141 if the reader of the output went away.
      """)

  @Flag(help: "Print one JSON object, on a line of its own, now and after each change.")
  var json = false

  func run() throws {
    if json { return try followAsJSON() }
    guard FullScreen.isPossible else {
      Console.complain("latchkey: watch needs a terminal on which it can draw; programs use latchkey watch --json")
      throw ExitCode(64)
    }
    let screen = FullScreen()
    // Done before any other thread starts, so that signals come to this thread.
    try SystemControl.reporting { try screen.begin() }
    let ending = followOnScreen(screen)
    screen.end()
    Console.end(program: "latchkey")
    switch ending {
    case .quit: return
    case .signal(let number): throw ExitCode(128 + number)
    case .failure(let message):
      Console.complain("latchkey: \(message)")
      throw ExitCode(1)
    }
  }

  private func followAsJSON() throws {
    let mailbox = try SystemControl.reporting { try StatusMailbox() }
    let follower = try SystemControl.reporting { try StatusFollower { mailbox.put($0) } }
    defer { follower.close() }
    var last: String?
    while Console.failure == nil {
      guard mailbox.wait() else {
        // The status is the same as after a write that nobody reads.
        throw ExitCode(Console.Failure.readerIsGone.exitStatus)
      }
      let line: String
      switch mailbox.take() {
      case .status(let status): line = StatusJSON.status(status)
      case .away: line = StatusJSON.away
      case .ended(let error):
        Console.complain("latchkey: \(error.message)")
        throw ExitCode(1)
      case nil: continue
      }
      if line != last { Console.say(line) }
      last = line
    }
    Console.end(program: "latchkey")
  }

  private enum Ending {
    case quit
    case signal(Int32)
    case failure(String)
  }

  private func followOnScreen(_ screen: FullScreen) -> Ending {
    let follower: StatusFollower
    let mailbox: StatusMailbox
    do {
      let box = try StatusMailbox()
      mailbox = box
      follower = try StatusFollower { box.put($0) }
    } catch {
      return .failure(Complaint.words(for: error))
    }
    defer { follower.close() }
    let host = ProcessInfo.processInfo.hostName
    var view = WatchView.waiting
    var drawn: [String]?
    while Console.failure == nil {
      let lines = WatchScreen(Terminal.output, rows: Terminal.outputRows, clock: .machine, host: host)
        .lines(view, now: Date().timeIntervalSince1970)
      if lines != drawn { screen.draw(lines) }
      drawn = lines
      switch screen.wait(for: mailbox.descriptor) {
      case .news:
        switch mailbox.take() {
        case .status(let status): view = .status(status)
        case .away: view = .away
        case .ended(let error): return .failure(error.message)
        case nil: break
        }
      case .redraw: drawn = nil
      case .quit: return .quit
      case .signal(let number): return .signal(number)
      }
    }
    return .quit
  }
}
