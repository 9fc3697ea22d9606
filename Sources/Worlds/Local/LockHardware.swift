import CSystemd
import Foundation
import Glibc
import Timekeeping

/// The parts of a simulated lock that a hand can reach: its door and its thumb-turn. Uses lines of JSON over a socket
/// in the lock's state folder.
package struct LockHardware {
  package let stateFolder: String
  /// How long to wait for a lock that does not listen, because it is being started.
  private let patience: Duration
  /// How long a lock that listens may take to answer.
  private static let answerMilliseconds: Int32 = 60_000
  /// How long to wait between tries. Nothing reports when somebody begins to listen at a socket on another machine.
  private let pauseSeconds: TimeInterval

  package init(stateFolder: String, patience: Duration = .zero, pauseSeconds: TimeInterval = 0.5) {
    self.stateFolder = stateFolder
    self.patience = patience
    self.pauseSeconds = pauseSeconds
  }

  package func moveDoor(isOpen: Bool) throws { try ask(["door": .text(isOpen ? "open" : "shut")]) }
  /// - Parameter side: where the hand is, if the lock can tell.
  package func turnBolt(isLocked: Bool, from side: LockHand.Side? = nil) throws {
    var request: [String: Value] = ["turn": .text(isLocked ? "locked" : "unlocked")]
    if let side { request["from"] = .text(side.rawValue) }
    try ask(request)
  }

  package func perform(_ hand: LockHand) throws {
    switch hand {
    case .motor(let fault): try ask(["fault": .text(fault.rawValue)])
    case .battery(let percent, let drain):
      var request: [String: Value] = [:]
      if let percent { request["battery"] = .number(percent) }
      if let drain { request["drain"] = .number(drain) }
      try ask(request)
    case .cover(let isOff): try ask(["tamper": .flag(isOff)])
    case .mode(let mode): try ask(["mode": .text(mode.rawValue)])
    case .enrolmentButton: try ask(["enroll": .text("pressed")])
    case .resetButton(let isPressed): try ask(["reset": .text(isPressed ? "pressed" : "released")])
    }
  }

  private enum Value: Encodable {
    case text(String)
    case number(Int)
    case flag(Bool)

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .text(let text): try container.encode(text)
      case .number(let number): try container.encode(number)
      case .flag(let flag): try container.encode(flag)
      }
    }
  }

  private struct Answer: Decodable {
    var error: String?
  }

  /// Nobody listens, or the connection ended without an answer. The request is then sent again. It may arrive twice,
  /// because it says how something is to be, and not how it is to change.
  private struct NobodyListens: Error {
    var error: WorldError
  }

  private func ask(_ request: [String: Value]) throws {
    let line = try JSONEncoder().encode(request) + [0x0A]
    let began = ContinuousClock.now
    while true {
      do {
        return try take(answer(to: line))
      } catch let problem as NobodyListens {
        guard ContinuousClock.now - began < patience else { throw problem.error }
        Thread.sleep(forTimeInterval: pauseSeconds)
      }
    }
  }

  private func take(_ answer: [UInt8]) throws {
    if let error = try JSONDecoder().decode(Answer.self, from: Data(answer)).error {
      throw WorldError("the lock's hardware refused: \(error)")
    }
  }

  private func answer(to line: Data) throws -> [UInt8] {
    // By way of the folder's descriptor, because a socket's address has room for 107 bytes and a path may be longer.
    let folder = open(stateFolder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw WorldError.system("the lock's state \(stateFolder)", errno) }
    defer { close(folder) }
    let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { throw WorldError.system("socket", errno) }
    defer { close(socket) }
    guard withUnixAddress("/proc/self/fd/\(folder)/hardware.sock", { connect(socket, $0, $1) }) == 0 else {
      throw NobodyListens(error: .system("the lock's hardware can't be reached", errno))
    }
    guard line.withUnsafeBytes({ send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }) == line.count else {
      throw NobodyListens(error: .system("the lock's hardware takes nothing", errno))
    }
    var answer: [UInt8] = []
    while answer.last != 0x0A {
      var poller = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      var buffer = [UInt8](repeating: 0, count: 1024)
      let limit = Self.answerMilliseconds
      guard poll(&poller, 1, limit) == 1 else {
        throw WorldError("the lock's hardware has not answered within \(limit / 1000) s")
      }
      // A connection that is forwarded to another machine is accepted here, even if nobody listens there.
      guard case let count = read(socket, &buffer, buffer.count), count > 0, answer.count < 65536 else {
        throw NobodyListens(error: WorldError("the lock's hardware does not answer"))
      }
      answer += buffer[..<count]
    }
    return answer
  }
}
