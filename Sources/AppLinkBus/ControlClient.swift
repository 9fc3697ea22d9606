import AppLink
import BusValue
import LatchkeyVersion
import SystemBus

/// The `latchkey` command's client of the system.
package final class ControlClient: Sendable {
  private let bus: Bus

  /// Connects to the bus. `address` is by default the system bus's, or that in `DBUS_SYSTEM_BUS_ADDRESS`. Throws
  /// `unavailable` if there is no bus.
  package init(address: String? = nil) throws(AppLinkError) {
    bus = try ControlCall.connected { () throws(BusError) in
      let bus = try Bus(address: address.map { BusAddress($0) } ?? .system)
      try bus.start()
      return bus
    }
  }

  deinit { bus.close() }

  /// Asks, and waits until it is done. Returns the status if that was asked for. Throws `unavailable` if latchkeyd is
  /// not on the bus, and `wrongVersion` if it does not know the request or has a status of another form.
  @discardableResult
  package func perform(_ request: ControlRequest) async throws(AppLinkError) -> SystemStatus? {
    do throws(BusError) {
      let reply = try await bus.call(ControlCall.call(request))
      guard request.returnsStatus else { return nil }
      return try ControlCall.status(reply)
    } catch {
      throw ControlCall.error(error)
    }
  }

  /// Asks an app something, and returns its answer. Throws `unavailable` with the app's reason if it has none.
  package func ask(app: String, name: String, argument: String) async throws(AppLinkError) -> String {
    do throws(BusError) {
      let request = ControlRequest.askApp(bundleIdentifier: app, name: name, argument: argument)
      guard case .string(let text)? = try await bus.call(ControlCall.call(request)).first else {
        throw BusError(AppLinkError(.wrongVersion, "the answer has no text"))
      }
      return text
    } catch {
      throw ControlCall.error(error)
    }
  }

  /// Asks, and returns when latchkeyd has received it. The outcome is in latchkeyd's journal.
  package func say(_ request: ControlRequest) async throws(AppLinkError) {
    do throws(BusError) {
      try await bus.callWithoutReply(ControlCall.call(request))
    } catch {
      throw ControlCall.error(error)
    }
    // latchkeyd receives one client's requests in order, and answers this one at once.
    _ = try await status()
  }

  /// The call that asks for the status, for a client that has its own connection.
  package static var statusCall: MethodCall { ControlCall.call(.status) }

  /// Reads the answer to `statusCall`. Throws if it has another form, as another version's may.
  package static func status(_ reply: [Value]) throws(BusError) -> SystemStatus { try ControlCall.status(reply) }

  /// What the system and its apps are doing.
  package func status() async throws(AppLinkError) -> SystemStatus {
    guard let status = try await perform(.status) else { throw AppLinkError(.unavailable, "no status came") }
    return status
  }
}

/// The user's requests as calls, and what comes back.
enum ControlCall {
  /// - Parameter owner: latchkeyd's name on the bus.
  static func call(_ request: ControlRequest, to owner: String = AppLinkName.busName) -> MethodCall {
    let message = ControlCoding.message(request)
    return MethodCall(
      to: owner, path: AppLinkName.path, interface: AppLinkName.controlInterface, member: message.name,
      arguments: message.arguments)
  }

  /// Throws `wrongVersion` if the status has not the form that this version knows.
  static func status(_ reply: [Value]) throws(BusError) -> SystemStatus {
    do throws(BusError) {
      return try SystemStatus(busValue: reply.first ?? .bool(false))
    } catch {
      // The first member is the version in every version that has one.
      var version: String?
      if case .structure(let members) = reply.first, case .string(let text) = members.first { version = text }
      throw BusError(otherVersion(version.map { String($0.prefix(64)) }))
    }
  }

  /// What a call's failure means to a user.
  static func error(_ error: BusError) -> AppLinkError {
    switch error.name {
    case BusError.Name.unknownMethod, BusError.Name.unknownInterface: otherVersion(nil)
    case BusError.Name.accessDenied:
      AppLinkError(.unavailable, "only root and members of the group latchkey may use latchkeyd")
    default: AppLinkError(error)
    }
  }

  /// Runs `work`, and translates an error of the bus into one for a user.
  static func connected<Outcome>(_ work: () throws(BusError) -> Outcome) throws(AppLinkError) -> Outcome {
    do throws(BusError) { return try work() } catch { throw Self.error(error) }
  }

  private static func otherVersion(_ version: String?) -> AppLinkError {
    let own = LatchkeyVersion.current
    let other =
      switch version {
      case nil, "": "an earlier version"
      case own: "another build of version \(own)"
      case let version?: "version \(version)"
      }
    return AppLinkError(
      .wrongVersion,
      "latchkeyd is of \(other), and this command is of \(own): restart latchkeyd, or install both from one release")
  }
}
