import CoreBluetooth
import Foundation
import Glibc
import Journal
import JournalEvents
import Logging
import Threads
import Timekeeping

/// A lock without a radio. A hand turns its bolt, and it records that wrongly.
final class RogueLock: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  private var manager: CBPeripheralManager?
  private let logger = Logger(label: "latchkey-lock")
  private var record = 0

  static func run(_ way: String) throws {
    let time = try ProcessClock.fromEnvironment()
    try Journal.bootstrap(process: Recorded.lock, time: time)
    let lock = RogueLock()
    lock.logger.record(Recorded.Lock.started, [.bolt: "locked", .door: "shut"])
    // An app that never attaches is ended by its system.
    lock.manager = CBPeripheralManager(delegate: lock, queue: .main)
    try Socket.serve(ProcessInfo.processInfo.environment["STATE_DIRECTORY"] ?? ".") { line in
      DispatchQueue.main.sync { lock.turn(way, to: line.contains("unlocked") ? "unlocked" : "locked") }
      return "{}"
    }
    // Where nothing follows, an optimised build may release what is no longer named, whatever withExtendedLifetime says.
    _ = Unmanaged.passRetained(lock)
    dispatchMain()
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}

  private func turn(_ way: String, to position: String) {
    record += 1
    var fields: [JournalField: String] = [.to: position, .cause: "hand", .record: "\(record)"]
    switch way {
    case "without a record": fields[.record] = nil
    case "one record for all": fields[.record] = "1"
    case "twice" where position == "unlocked":
      fields[.cause] = "phone"
      logger.record(Recorded.Lock.boltMoved, fields)
      record += 1
      fields[.record] = "\(record)"
    default: break
    }
    logger.record(Recorded.Lock.boltMoved, fields)
  }
}

/// Lines over the socket in a lock's state folder.
enum Socket {
  private static func connected(_ folder: String, _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32) throws
    -> Int32
  {
    let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { throw Sabotage.Failure(description: "no folder \(folder)") }
    defer { close(directory) }
    let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let path = "/proc/self/fd/\(directory)/hardware.sock"
    guard withUnixAddress(path, { use(socket, $0, $1) }) == 0 else {
      throw Sabotage.Failure(description: "no socket in \(folder)")
    }
    return socket
  }

  static func ask(_ folder: String, _ line: String) throws {
    let socket = try connected(folder) { connect($0, $1, $2) }
    defer { close(socket) }
    let bytes = Array((line + "\n").utf8)
    _ = send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    var answer = [UInt8](repeating: 0, count: 1024)
    _ = recv(socket, &answer, answer.count, 0)
  }

  static func serve(_ folder: String, _ answer: @escaping @Sendable (String) -> String) throws {
    unlink(folder + "/hardware.sock")
    let listener = try connected(folder) { bind($0, $1, $2) }
    listen(listener, 8)
    try DetachedThread.start {
      while true {
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { continue }
        var line = [UInt8](repeating: 0, count: 1024)
        let count = recv(connection, &line, line.count, 0)
        if count > 0 {
          let reply = Array((answer(String(decoding: line[..<count], as: UTF8.self)) + "\n").utf8)
          _ = send(connection, reply, reply.count, Int32(MSG_NOSIGNAL))
        }
        close(connection)
      }
    }
  }
}
