import CSystemd
import Foundation
import Glibc
import Timekeeping

/// The parts of a simulated lock that a hand can reach: its door and its thumb-turn. Uses lines of JSON over a socket
/// in the lock's state folder.
package struct LockHardware {
  package let stateFolder: String

  package func moveDoor(isOpen: Bool) throws { try ask(["door": isOpen ? "open" : "shut"]) }
  package func turnBolt(isLocked: Bool) throws { try ask(["turn": isLocked ? "locked" : "unlocked"]) }

  private struct Answer: Decodable {
    var error: String?
  }

  private func ask(_ request: [String: String]) throws {
    // By way of the folder's descriptor, because a socket's address has room for 107 bytes and a path may be longer.
    let folder = open(stateFolder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw WorldError.system("the lock's state \(stateFolder)", errno) }
    defer { close(folder) }
    let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { throw WorldError.system("socket", errno) }
    defer { close(socket) }
    guard withUnixAddress("/proc/self/fd/\(folder)/hardware.sock", { connect(socket, $0, $1) }) == 0 else {
      throw WorldError.system("the lock's hardware can't be reached", errno)
    }
    let line = try JSONEncoder().encode(request) + [0x0A]
    guard line.withUnsafeBytes({ send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }) == line.count else {
      throw WorldError.system("the lock's hardware takes nothing", errno)
    }
    var answer: [UInt8] = []
    while answer.last != 0x0A {
      var poller = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      var buffer = [UInt8](repeating: 0, count: 1024)
      guard poll(&poller, 1, 20_000) == 1, case let count = read(socket, &buffer, buffer.count), count > 0,
        answer.count < 65536
      else { throw WorldError("the lock's hardware does not answer") }
      answer += buffer[..<count]
    }
    if let error = try JSONDecoder().decode(Answer.self, from: Data(answer)).error {
      throw WorldError("the lock's hardware refused: \(error)")
    }
  }
}
