import AppLink
import Dispatch
import Foundation
import Threads

/// Why this process was launched: what `application(_:didFinishLaunchingWithOptions:)` tells an app on iOS.
///
///     for identifier in ApplicationLaunch.options()?[.bluetoothCentrals] as? [String] ?? [] {
///       // make the CBCentralManager with this restore identifier
///     }
public enum ApplicationLaunch {
  /// The launch options. A key is present only if the system relaunched the app for such a manager.
  ///
  /// Blocks the calling thread until the system has answered, even while the system is away, because only the system
  /// knows. `nil` if the system refuses this app, or if the app has no usable `Info.plist`; the log says which.
  public static func options() -> [OptionsKey: Any]? {
    AppSession.active.waitForAttachReply().map(options(from:))
  }

  /// The same, without blocking the calling thread.
  public static func options() async -> [OptionsKey: Any]? {
    let session = AppSession.active
    let reply: AttachReply? = await withCheckedContinuation { continuation in
      // On a thread of its own: the wait has no time limit, and the pools have few threads.
      let isStarted: Void? = try? DetachedThread.start { continuation.resume(returning: session.waitForAttachReply()) }
      // If there is none, blocking one of the pool's is better than no answer.
      if isStarted == nil { continuation.resume(returning: session.waitForAttachReply()) }
    }
    return reply.map(options(from:))
  }

  private static func options(from reply: AttachReply) -> [OptionsKey: Any] {
    var options: [OptionsKey: Any] = [:]
    if !reply.centralsToRestore.isEmpty { options[.bluetoothCentrals] = reply.centralsToRestore }
    if !reply.peripheralsToRestore.isEmpty { options[.bluetoothPeripherals] = reply.peripheralsToRestore }
    return options
  }
}
