import AppLink
import Dispatch
import Synchronization
import SystemBus

/// The user's commands to one machine's latchkeyd, for a thread that waits until each is done.
package final class MachineControl: Sendable {
  private let client: ControlClient

  /// - Parameter address: the machine's bus, or `nil` for the system bus or `DBUS_SYSTEM_BUS_ADDRESS`.
  package init(address: String?) throws { client = try ControlClient(address: address) }

  /// - Returns: the status, if it was asked for.
  @discardableResult
  package func perform(_ request: ControlRequest, limit: DispatchTimeInterval = .seconds(20)) throws -> SystemStatus? {
    try wait(for: "\(request)", limit) { client throws(AppLinkError) in try await client.perform(request) }
  }

  /// Asks an app something. Returns its answer.
  package func ask(
    app: String, name: String, argument: String, limit: DispatchTimeInterval = .seconds(60)
  ) throws -> String {
    // The argument is left out, because it may be secret.
    try wait(for: "what \(app) was asked", limit) { client throws(AppLinkError) in
      try await client.ask(app: app, name: name, argument: argument)
    }
  }

  /// Asks, and waits only until latchkeyd has received it.
  package func say(_ request: ControlRequest, limit: DispatchTimeInterval = .seconds(20)) throws {
    try wait(for: "\(request)", limit) { client throws(AppLinkError) in try await client.say(request) }
  }

  private func wait<Outcome: Sendable>(
    for what: String, _ limit: DispatchTimeInterval,
    _ work: @escaping @Sendable (ControlClient) async throws(AppLinkError) -> Outcome
  ) throws -> Outcome {
    let box = Box<Outcome>()
    Task { [client] in
      let result: Result<Outcome, AppLinkError>
      do throws(AppLinkError) {
        result = .success(try await work(client))
      } catch {
        result = .failure(error)
      }
      box.result.withLock { $0 = result }
      box.done.signal()
    }
    guard box.done.wait(timeout: .now() + limit) == .success, let result = box.result.withLock({ $0 }) else {
      throw AppLinkError(.unavailable, "latchkeyd does not answer \(what).")
    }
    return try result.get()
  }

  private final class Box<Outcome: Sendable>: Sendable {
    let result = Mutex<Result<Outcome, AppLinkError>?>(nil)
    let done = DispatchSemaphore(value: 0)
  }
}
