import Journal

/// The owner comes home.
enum ArrivalPromises {
  static let all = [
    Promise(
      name: "relaunched-in-background", rows: ["S9", "L3"],
      meaning: "The system relaunches the dead agent with launch options that list its restore identifiers."
    ) { (evidence) throws(MissingMark) in
      let home = try evidence.home()
      let launches = evidence.all("app.launched", of: Recorded.daemon, in: home).filter {
        $0.concerns(Recorded.agentIdentifier)
      }
      guard let launch = launches.first else { return .broken("the agent was not relaunched on arrival") }
      guard launches.count == 1 else { return .broken("the agent was launched \(launches.count) times", launches) }
      guard launch.fields["reason"] == "restore" else {
        return .broken("the agent was launched for another reason than restoration", launches)
      }
      guard let listed = launch.fields["centrals"], !listed.isEmpty, listed != "[]" else {
        return .broken("the launch options list no restore identifier", launches)
      }
      guard let started = evidence.first("agent.started", of: Recorded.agent, in: home) else {
        return .broken("the launched agent did not start", launches)
      }
      let start = evidence.entries[started]
      guard let told = start.fields["centralsToRestore"], !told.isEmpty, told != "[]" else {
        return .broken("the agent was told no restore identifier", [launch, start])
      }
      return .kept("launch options list \(told)", [launch, start])
    },
    Promise(
      name: "restored-in-order", rows: ["S10"],
      meaning: "willRestoreState comes first, then the state update, then didConnect, each once."
    ) { (evidence) throws(MissingMark) in
      let home = try evidence.home()
      guard let started = evidence.first("agent.started", of: Recorded.agent, in: home) else {
        return .broken("the agent was not started on arrival")
      }
      let pid = evidence.entries[started].pid
      let told = ["willRestoreState", "stateUpdated", "didConnect"]
      let lines = evidence.all(in: started..<home.upperBound) {
        $0.process == Recorded.agent && $0.pid == pid && told.contains($0.event ?? "")
      }
      guard lines.map({ $0.event ?? "" }) == told else {
        return .broken("told \(lines.map { $0.event ?? "" }.joined(separator: ", "))", lines)
      }
      return .kept(told.joined(separator: ", "), lines)
    },
    Promise(
      name: "services-restored", rows: ["S12"],
      meaning: "The restored peripheral carries its services; nothing is discovered anew."
    ) { (evidence) throws(MissingMark) in
      let home = try evidence.home()
      guard let index = evidence.first("willRestoreState", of: Recorded.agent, in: home) else {
        return .broken("the agent restored nothing on arrival")
      }
      let restored = evidence.entries[index]
      guard (Int(restored.fields["peripherals"] ?? "") ?? restored.fields["peripherals"]?.count ?? 0) > 0 else {
        return .broken("no peripheral was restored", [restored])
      }
      let services = restored.fields["services"] ?? ""
      guard !["", "0", "[]"].contains(services) else { return .broken("no service was restored", [restored]) }
      let discoveries = evidence.all(in: home) {
        $0.process == Recorded.agent && ["discovery.started", "didDiscoverServices"].contains($0.event)
      }
      guard discoveries.isEmpty else { return .broken("the agent discovered services again", [restored] + discoveries) }
      return .kept("services \(services) were there at restoration", [restored])
    },
    Promise(
      name: "subscription-alive", rows: ["S4", "S12"],
      meaning: "The subscription of days ago still delivers: the lock's fresh offer arrives without a new one."
    ) { (evidence) throws(MissingMark) in
      let home = try evidence.home()
      guard let alive = evidence.first("subscription.alive", of: Recorded.agent, in: home) else {
        return .broken("the agent did not find its subscription alive")
      }
      let again = evidence.all("subscription.requested", of: Recorded.agent, in: home)
      guard again.isEmpty else { return .broken("the agent had to subscribe again", again) }
      guard let offer = evidence.first("offer.received", of: Recorded.agent, in: home) else {
        return .broken("no offer arrived", [evidence.entries[alive]])
      }
      return .kept("alive, and the lock's offer arrived by it", [alive, offer].sorted().map { evidence.entries[$0] })
    },
    Promise(
      name: "woken-on-arrival", rows: ["B1", "L2"],
      meaning: "The agent that was only suspended is resumed, not launched, and learns of its connection."
    ) { (evidence) throws(MissingMark) in
      let home = try evidence.home()
      let away = try evidence.away()
      guard
        let suspended = evidence.first(
          in: away, where: { $0.event == "app.suspended" && $0.concerns(Recorded.agentIdentifier) })
      else { return .broken("the agent was not suspended while the owner was away") }
      let launches = evidence.all(in: suspended..<home.upperBound) {
        $0.event == "app.launched" && $0.concerns(Recorded.agentIdentifier)
      }
      guard launches.isEmpty else { return .broken("the agent was launched anew", launches) }
      guard
        let resumed = evidence.first(
          in: home, where: { $0.event == "app.resumed" && $0.concerns(Recorded.agentIdentifier) })
      else { return .broken("the agent was not resumed on arrival") }
      let connections = evidence.all("didConnect", of: Recorded.agent, in: home)
      guard connections.count == 1 else {
        return .broken("didConnect came \(connections.count) times after the resume", connections)
      }
      let restored = evidence.all("willRestoreState", of: Recorded.agent, in: home)
      guard restored.isEmpty else { return .broken("a living agent was told to restore", restored) }
      return .kept("resumed, then didConnect", [evidence.entries[resumed]] + connections)
    },
  ]
}
