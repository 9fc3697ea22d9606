import Foundation

/// What a delegate is told.
package struct DelegateNews: Sendable {
  /// The delegate method's own word: `didConnect`.
  package var method: String
  /// The manager's restore identifier, or its number.
  package var manager: String
  package var peer: UUID?
  package var attribute: CBUUID?
  package var value: Data?
  package var error: (any Error)?
}

/// Watches one app: what its delegates are told, and what it does meanwhile.
package protocol SessionObserver: AnyObject, Sendable {
  /// The delegate is called right after this.
  func delegateIsTold(_ news: DelegateNews)
  /// The app's own code begins to run. The result lives as long as that code and the tasks that it starts.
  func workBegins() -> any AnyObject & Sendable
  /// The library begins what follows from the end of an object of the app. The result lives until that is done.
  func tidyingBegins() -> any AnyObject & Sendable
}

extension AppSession {
  @TaskLocal private static var work: (any AnyObject & Sendable)?

  /// Runs `body` as this app's code: managers made in it, or in its tasks, belong to this app.
  package func asApp<Value>(_ body: () throws -> Value) rethrows -> Value {
    try Self.$current.withValue(self) {
      guard let observer else { return try body() }
      return try Self.$work.withValue(observer.workBegins(), operation: body)
    }
  }

  /// Runs `body` as this app's code.
  package func asApp<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
  ) async rethrows -> Value {
    let observer = observer
    return try await Self.$current.withValue(
      self,
      operation: {
        guard let observer else { return try await body() }
        return try await Self.$work.withValue(observer.workBegins(), operation: body, isolation: isolation)
      }, isolation: isolation)
  }
}

extension CBManager {
  /// Notes a call of the delegate, right before it is made.
  func tells(
    _ method: String, _ peer: CBPeer? = nil, _ attribute: CBAttribute? = nil, value: Data? = nil,
    error: (any Error)? = nil
  ) {
    guard let observer = session.observer else { return }
    observer.delegateIsTold(
      DelegateNews(
        method: method, manager: creation.restoreIdentifier ?? "\(managerIdentifier.rawValue)",
        peer: peer?.identifier, attribute: attribute?.uuid, value: value, error: error))
  }
}
