import BlueZ
import BusValue
import Radio

/// AgentManager1: the agents that speak for the user.
struct Agents: Sendable {
  struct Agent: Sendable, Hashable {
    var client: ClientIdentifier
    var path: ObjectPath
    var capability: AgentCapability
  }
  private var agents: [ClientIdentifier: Agent] = [:]
  /// The order in which agents become the default: first those that asked to be it, latest first, then the others, in
  /// the order in which they registered (BlueZ 5.51 and later, src/agent.c).
  private var defaults: [ClientIdentifier] = []

  /// The agent for pairings that no client began, such as those that a peer begins.
  var defaultAgent: Agent? { defaults.first.flatMap { agents[$0] } }

  /// The agent for a pairing that `client` asked for, or for one without a client.
  func agent(for client: ClientIdentifier?) -> Agent? { client.flatMap { agents[$0] } ?? defaultAgent }

  /// The answer to a method of AgentManager1, or `nil` for any other method.
  mutating func answer(_ request: Request, from client: ClientIdentifier) -> Result<Reply, BlueZError>? {
    switch request {
    case .registerAgent(let path, let capability):
      guard agents[client] == nil else { return .failure(.alreadyExists) }
      agents[client] = Agent(client: client, path: path, capability: capability)
      defaults.append(client)
    case .requestDefaultAgent(let path):
      guard agents[client]?.path == path else { return .failure(.doesNotExist) }
      defaults.removeAll { $0 == client }
      defaults.insert(client, at: 0)
    case .unregisterAgent(let path):
      guard agents[client]?.path == path else { return .failure(.doesNotExist) }
      forget(client)
    default: return nil
    }
    return .success(.none)
  }

  mutating func forget(_ client: ClientIdentifier) {
    agents[client] = nil
    defaults.removeAll { $0 == client }
  }

  /// What all agents are told when bluetoothd ends.
  var releases: [Notice] {
    agents.keys.sorted().compactMap { notice($0, .release(interface: InterfaceName.agent)) }
  }

  /// `nil` if the client has no agent.
  func notice(_ client: ClientIdentifier, _ callback: Callback) -> Notice? {
    agents[client].map { Notice(client: client, path: $0.path, callback: callback) }
  }
}

extension BlueZModel {
  /// A new default agent makes the adapter pairable, and the end of the last one ends that. What happens to other agents
  /// leaves `Pairable` as a client has set it (src/agent.c, set_io_cap).
  ///
  /// - Parameter before: the default agent until now.
  mutating func refreshPairable(since before: Agents.Agent?) {
    let agent = agents.defaultAgent
    guard agent != before, kernel.isPlugged else { return }
    setPairable(agent != nil)
  }

  /// `PairableTimeout` counts from here, whoever made the adapter pairable (src/adapter.c, settings_changed).
  mutating func setPairable(_ isOn: Bool) {
    guard kernel.isPairable != isOn else { return }
    kernel.isPairable = isOn
    adapter.pairableWasSet(isOn, at: now)
    changed(adapterPath, \Adapter1.pairable)
  }

  /// Asks the agent about a pairing. `agentAnswered` receives the answer.
  ///
  /// - Returns: `false` if the agent still has another question open. bluetoothd asks an agent one thing at a time
  ///   (src/agent.c, `agent->request`).
  mutating func askAgent(_ agent: Agents.Agent, _ callback: Callback, on link: LinkIdentifier) -> Bool {
    let others = callbacks.all { open in
      if case .agent = open.purpose { open.client == agent.client } else { false }
    }
    guard others.isEmpty else { return false }
    _ = call(agent.client, agent.path, callback, .agent(link), within: configuration.timings.agent)
    return true
  }

  /// The pairing that an agent was asked about is over.
  mutating func cancelAgents(of link: LinkIdentifier) {
    let asked = callbacks.all { if case .agent(link) = $0.purpose { true } else { false } }
    for (identifier, open) in asked {
      callbacks.close(identifier)
      if let notice = agents.notice(open.client, .cancel) { tell([notice]) }
    }
  }
}

extension AgentCapability {
  /// Bluetooth Core, Vol 3, Part H, 2.3.2.
  var ioCapability: UInt8 {
    switch self {
    case .displayOnly: 0
    case .displayYesNo: 1
    case .keyboardOnly: 2
    case .noInputNoOutput: 3
    case .keyboardDisplay: 4
    }
  }
}
