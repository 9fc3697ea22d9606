import AppLink

/// What apps were told and their systems don't know to be handled. If a system and an app die together now, the app's
/// next process is restored as if it had not been told, and is told again.
struct UnheardEvents: Sendable {
  private struct Told: Sendable {
    var sequence: EventSequence
    var caller: Caller
    /// What the manager had asked for and been told without this event.
    var book: Reference.Book
  }

  /// By app, in the order in which they were told.
  private var told: [String: [Told]] = [:]
  /// What the systems that died knew of managers, until their processes say themselves what they have.
  private var known: [Caller: Reference.Book] = [:]

  mutating func isTold(_ sequence: EventSequence, _ caller: Caller, before book: Reference.Book) {
    told[caller.app, default: []].append(Told(sequence: sequence, caller: caller, book: book))
  }

  /// What a system takes from an app that it does not know to have handled something.
  mutating func change(_ caller: Caller, _ change: (inout Reference.Book) -> Void) {
    for index in told[caller.app]?.indices ?? 0..<0 where told[caller.app]?[index].caller == caller {
      if let book = told[caller.app]?[index].book {
        var book = book
        change(&book)
        told[caller.app]?[index].book = book
      }
    }
  }

  mutating func areHandled(through sequence: EventSequence, by app: String) {
    told[app]?.removeAll { $0.sequence <= sequence }
    if told[app]?.isEmpty == true { told[app] = nil }
  }

  /// The app's system has died.
  mutating func systemDied(of app: String) {
    for event in told.removeValue(forKey: app) ?? [] where known[event.caller] == nil {
      known[event.caller] = event.book
    }
  }

  /// The manager's process has told its next system what it has.
  mutating func resumed(_ caller: Caller) { known[caller] = nil }

  /// The app's process has ended. Returns what the next process is restored to, where that is not what this one was
  /// told.
  mutating func processEnded(_ app: String) -> [Caller: Reference.Book] {
    let books = known.filter { $0.key.app == app }
    for caller in books.keys { known[caller] = nil }
    return books
  }

  /// The app's system knows that its process has ended, and tells the next one what this one has not handled.
  mutating func forget(_ app: String) { told[app] = nil }

  /// The user has quit the app.
  mutating func forgetAll(of app: String) {
    told[app] = nil
    known = known.filter { $0.key.app != app }
  }
}
