import BusValue
import ChildProcesses
import Dispatch
import Foundation
import Glibc
import Synchronization
import SystemBus

extension MachineAccess {
  /// This machine.
  package static var real: MachineAccess {
    MachineAccess(
      isRoot: geteuid() == 0, unixSeconds: Date().timeIntervalSince1970,
      read: { path, limit throws(AccessProblem) in try Files.read(path, limit) },
      names: { folder throws(AccessProblem) in try Files.names(folder) },
      information: { path throws(AccessProblem) in
        var status = stat()
        guard stat(path, &status) == 0 else { throw Files.problem(path) }
        return Information(mode: status.st_mode & 0o7777, owner: status.st_uid)
      },
      fileSystem: { path throws(AccessProblem) in try Files.fileSystem(path) },
      target: { link throws(AccessProblem) in
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = buffer.withUnsafeMutableBytes { bytes in
          bytes.withMemoryRebound(to: CChar.self) { characters in
            characters.baseAddress.map { readlink(link, $0, characters.count) } ?? -1
          }
        }
        guard count >= 0 else { throw Files.problem(link) }
        return String(decoding: buffer.prefix(count), as: UTF8.self)
      },
      run: { executable, arguments throws(AccessProblem) in try Self.run(executable, arguments) },
      connect: { address throws(BusError) in try RealBus(address) },
      uptime: { (seconds(CLOCK_BOOTTIME), seconds(CLOCK_MONOTONIC) ?? 0) },
      kernel: kernelRelease)
  }

  private static func seconds(_ clock: clockid_t) -> Double? {
    var time = timespec()
    guard clock_gettime(clock, &time) == 0 else { return nil }
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private static var kernelRelease: String {
    guard let bytes = try? Files.read("/proc/sys/kernel/osrelease", 256) else { return "" }
    return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// journalctl may have to search gigabytes.
  private static let commandLimit = Duration.seconds(60)

  private static func run(_ executable: String, _ arguments: [String]) throws(AccessProblem) -> Outcome {
    guard access(executable, X_OK) == 0 else { throw Files.problem(executable) }
    // The caller's environment is not passed on, because it could change the output of these programs.
    let start = ProcessStart(
      executable: executable, arguments: arguments,
      environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"])
    let finished: FinishedProcess?
    do { finished = try FinishedProcess.run(executable, start, limit: commandLimit) } catch {
      throw AccessProblem("\(error)")
    }
    guard let finished else { throw AccessProblem("\(executable) did not end within \(commandLimit)") }
    guard case .exited(let status) = finished.end else { throw AccessProblem("\(executable): \(finished.end)") }
    return Outcome(status: status, output: finished.output, errors: finished.errors)
  }
}

private enum Files {
  static func problem(_ path: String) -> AccessProblem {
    AccessProblem("\(path): \(String(cString: strerror(errno)))", isMissing: errno == ENOENT || errno == ENOTDIR)
  }

  static func read(_ path: String, _ limit: Int) throws(AccessProblem) -> [UInt8] {
    // A pipe has to be refused instead of waited for.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw problem(path) }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: limit)
    var size = 0
    while size < limit {
      let count = bytes.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress?.advanced(by: size), limit - size) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw problem(path) }
      guard count > 0 else { break }
      size += count
    }
    return Array(bytes.prefix(size))
  }

  static func names(_ folder: String) throws(AccessProblem) -> [String] {
    guard let directory = opendir(folder) else { throw problem(folder) }
    defer { closedir(directory) }
    var names: [String] = []
    while names.count < 4096, let entry = readdir(directory) {
      let name = withUnsafePointer(to: entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  static func fileSystem(_ path: String) throws(AccessProblem) -> MachineAccess.FileSystem {
    var information = statvfs()
    guard statvfs(path, &information) == 0 else { throw problem(path) }
    let (freeBytes, isHuge) = Int(clamping: information.f_bavail).multipliedReportingOverflow(
      by: Int(clamping: information.f_frsize))
    // ST_RDONLY of statvfs(3), which is 1.
    return MachineAccess.FileSystem(isReadOnly: information.f_flag & 1 != 0, freeBytes: isHuge ? .max : freeBytes)
  }
}

/// A bus, for a thread that waits for each answer.
private final class RealBus: BusQuestions {
  private let bus: Bus
  private static let limit = Duration.seconds(5)

  init(_ address: String?) throws(BusError) {
    bus = try Bus(address: address.map { BusAddress($0) } ?? .system)
    try bus.start()
  }

  deinit { bus.close() }

  var isSystemBus: Bool { ProcessInfo.processInfo.environment["DBUS_SYSTEM_BUS_ADDRESS"]?.isEmpty ?? true }

  func ask(_ call: MethodCall) throws(BusError) -> [Value] {
    try wait { bus, done in bus.call(call, timeout: Self.limit) { done($0) } }
  }

  func credentials(of name: String) throws(BusError) -> BusCredentials {
    try wait { bus, done in bus.credentials(of: name) { done($0) } }
  }

  private func wait<Answer: Sendable>(
    _ begin: @escaping @Sendable (isolated Bus, @escaping @Sendable (Result<Answer, BusError>) -> Void) -> Void
  ) throws(BusError) -> Answer {
    let answered = DispatchSemaphore(value: 0)
    let outcome = Mutex<Result<Answer, BusError>>(.failure(.disconnected))
    bus.enqueue { bus in
      begin(bus) { result in
        outcome.withLock { $0 = result }
        answered.signal()
      }
    }
    guard answered.wait(timeout: .now() + .seconds(10)) == .success else {
      throw BusError(name: BusError.Name.noReply, message: "the bus does not answer")
    }
    return try outcome.withLock { $0 }.get()
  }
}
