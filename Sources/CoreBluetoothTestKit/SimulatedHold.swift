import Foundation

/// Keeps a home's time from passing, until it is released: for work of an app that the home can't see.
public final class SimulatedHold: @unchecked Sendable {
  private let lock = NSLock()
  private var end: (@Sendable () -> Void)?

  init(_ end: @escaping @Sendable () -> Void) { self.end = end }

  deinit { release() }

  /// Lets time pass again. A second call has no effect. A hold that nothing refers to any more is released as well.
  public func release() {
    let end = lock.withLock {
      defer { self.end = nil }
      return self.end
    }
    end?()
  }
}
