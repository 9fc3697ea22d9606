import SystemBus

/// The clients that wait for what they asked of apps. They are watched, because what a client that has left the bus asked for is
/// withdrawn.
struct AskingClients {
  private struct Client {
    var watch: Bus.NameWatch
    var requests: [ControlToken]
  }

  /// By their names on the bus.
  private var clients: [String: Client] = [:]

  /// What this client asked for that has no answer, oldest first.
  func requests(of name: String) -> [ControlToken] { clients[name]?.requests ?? [] }

  /// - Returns: `false` if this client is not watched yet.
  mutating func add(_ token: ControlToken) -> Bool {
    guard clients[token.call.sender] != nil else { return false }
    clients[token.call.sender]?.requests.append(token)
    return true
  }

  mutating func add(_ token: ControlToken, _ watch: Bus.NameWatch) {
    clients[token.call.sender] = Client(watch: watch, requests: [token])
  }

  /// - Returns: the watch that is not needed any more, if this was the client's last request.
  mutating func answered(_ token: ControlToken) -> Bus.NameWatch? {
    let name = token.call.sender
    clients[name]?.requests.removeAll { $0 == token }
    guard let client = clients[name], client.requests.isEmpty else { return nil }
    clients[name] = nil
    return client.watch
  }
}
