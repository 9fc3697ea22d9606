/// The messages of clients that send more than their share. Whoever sends little is served at once.
///
/// A bus passes on the messages of all clients in one queue. Thousands of calls of one client would be answered before
/// the first call of anyone who comes later. (bluetoothd does so. It need not care, because a system bus lets a client
/// have no more than 128 unanswered calls: dbus-daemon(1), max_replies_per_connection.)
struct Backlog<Message> {
  /// How many messages of one client are handled as they arrive, between two pauses of the server.
  static var share: Int { 64 }
  /// How many of its waiting messages are handled in a pause.
  static var step: Int { 8 }
  /// How many messages of one client may wait.
  static var limit: Int { 8192 }

  private var waiting: [String: [Message]] = [:]
  private var handled: [String: Int] = [:]

  /// Takes a message that has arrived. Returns what has to be handled at once, in this order.
  mutating func take(_ message: Message, of client: String) -> [Message] {
    if waiting[client] == nil {
      let count = handled[client, default: 0]
      guard count >= Self.share else {
        handled[client] = count + 1
        return [message]
      }
    }
    waiting[client, default: []].append(message)
    // Calls that want no answer are not counted by anyone else.
    return waiting[client]?.count ?? 0 > Self.limit ? next(of: client) : []
  }

  /// The server has nothing else to do, or has not paused for long. Returns what to handle now.
  mutating func pause() -> [Message] {
    handled = [:]
    return waiting.keys.sorted().flatMap { next(of: $0) }
  }

  /// Whether the next pause has to be noticed.
  var needsPause: Bool { !waiting.isEmpty || !handled.isEmpty }

  private mutating func next(of client: String) -> [Message] {
    guard let all = waiting[client] else { return [] }
    let rest = Array(all.dropFirst(Self.step))
    waiting[client] = rest.isEmpty ? nil : rest
    return Array(all.prefix(Self.step))
  }
}
