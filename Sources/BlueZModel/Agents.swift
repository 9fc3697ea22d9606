import BlueZ
import BusValue
import Radio

/// AgentManager1: who speaks for the user.
struct AgentState: Sendable {
  struct Agent: Sendable {
    var client: ClientIdentifier
    var path: ObjectPath
    var capability: AgentCapability
  }
  var agents: [ClientIdentifier: Agent] = [:]
  /// Whose turn it is to be the default: who asked to be it before the others, the latest first; then the others, in
  /// the order they registered (BlueZ 5.51 and later, src/agent.c).
  var defaults: [ClientIdentifier] = []

  /// For what no client asked for, a peer's pairing above all.
  var defaultAgent: Agent? { defaults.first.flatMap { agents[$0] } }
}

extension BlueZModel {
  mutating func handleAgentCall(_ request: Request, from client: ClientIdentifier) -> Result<Reply, BlueZError>? {
    switch request {
    case .registerAgent(let path, let capability):
      guard agents.agents[client] == nil else { return .failure(.alreadyExists) }
      agents.agents[client] = AgentState.Agent(client: client, path: path, capability: capability)
      agents.defaults.append(client)
      refreshPairable()
    case .requestDefaultAgent(let path):
      guard agents.agents[client]?.path == path else { return .failure(.doesNotExist) }
      agents.defaults.removeAll { $0 == client }
      agents.defaults.insert(client, at: 0)
      refreshPairable()
    case .unregisterAgent(let path):
      guard agents.agents[client]?.path == path else { return .failure(.doesNotExist) }
      forgetAgent(of: client)
    default: return nil
    }
    return .success(.none)
  }

  mutating func forgetAgent(of client: ClientIdentifier) {
    guard agents.agents.removeValue(forKey: client) != nil else { return }
    agents.defaults.removeAll { $0 == client }
    refreshPairable()
  }

  /// An adapter is pairable while there is somebody to ask.
  private mutating func refreshPairable() {
    let isPairable = agents.defaultAgent != nil
    guard kernel.isPlugged, kernel.isPairable != isPairable else { return }
    kernel.isPairable = isPairable
    changed(adapterPath, \Adapter1.pairable)
  }

  mutating func releaseAgents() {
    for client in agents.agents.keys.sorted() {
      guard let agent = agents.agents[client] else { continue }
      callWithoutAnswer(client, agent.path, .release(interface: InterfaceName.agent))
    }
  }

  /// The agent for a pairing that `client` asked for, or nobody did.
  func agent(for client: ClientIdentifier?) -> AgentState.Agent? {
    client.flatMap { agents.agents[$0] } ?? agents.defaultAgent
  }

  /// Asks the agent of a pairing; its answer comes to `agentAnswered`.
  mutating func askAgent(_ agent: AgentState.Agent, _ callback: Callback, on link: LinkIdentifier) {
    _ = call(agent.client, agent.path, callback, .agent(link), within: configuration.timings.agent)
  }

  /// The pairing that an agent was asked about is over.
  mutating func cancelAgents(of link: LinkIdentifier) {
    for (identifier, open) in callbacks.open.sorted(by: { $0.key < $1.key }) {
      guard case .agent(link) = open.purpose else { continue }
      callbacks.open[identifier] = nil
      if let agent = agents.agents[open.client] { callWithoutAnswer(agent.client, agent.path, .cancel) }
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
