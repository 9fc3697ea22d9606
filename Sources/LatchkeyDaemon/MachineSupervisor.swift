import BluetoothSystem

/// Passes each app to its supervisor: systemd, if the app has a unit and systemd runs the machine, otherwise
/// latchkeyd itself as the app's parent.
final class MachineSupervisor: Supervisor {
  let news: AsyncStream<SupervisorNews>
  private let children: ChildProcessSupervisor
  private let systemd: SystemdSupervisor?
  private let unitApps: Set<String>
  private let forwarding: [Task<Void, Never>]

  /// - Parameter unitApps: bundle identifiers of the apps that `systemd` runs.
  init(
    children: ChildProcessSupervisor, systemd: SystemdSupervisor?, unitApps: Set<String>,
    executor: (any TaskExecutor)? = nil
  ) {
    self.children = children
    self.systemd = systemd
    self.unitApps = unitApps
    guard let systemd else {
      news = children.news
      forwarding = []
      return
    }
    let (news, continuation) = AsyncStream.makeStream(of: SupervisorNews.self)
    self.news = news
    forwarding = [children.news, systemd.news].map { source in
      Task(executorPreference: executor) { for await piece in source { continuation.yield(piece) } }
    }
  }

  func close() {
    children.close()
    systemd?.close()
    for task in forwarding { task.cancel() }
  }

  private func supervisor(of bundleIdentifier: String) -> any Supervisor {
    if let systemd, unitApps.contains(bundleIdentifier) { return systemd }
    return children
  }

  func launch(_ app: InstalledApp, _ options: LaunchOptions) throws -> ProcessIdentity? {
    try supervisor(of: app.declaration.bundleIdentifier).launch(app, options)
  }
  func adopt(_ bundleIdentifier: String, _ process: ProcessIdentity) {
    supervisor(of: bundleIdentifier).adopt(bundleIdentifier, process)
  }
  func suspend(_ bundleIdentifier: String, _ process: ProcessIdentity) {
    supervisor(of: bundleIdentifier).suspend(bundleIdentifier, process)
  }
  func resume(_ bundleIdentifier: String, _ process: ProcessIdentity) {
    supervisor(of: bundleIdentifier).resume(bundleIdentifier, process)
  }
  func kill(_ bundleIdentifier: String, _ process: ProcessIdentity) {
    supervisor(of: bundleIdentifier).kill(bundleIdentifier, process)
  }
  func verify(_ claim: AppClaim, answer: @escaping @Sendable (ClaimRefusal?) -> Void) {
    supervisor(of: claim.bundleIdentifier).verify(claim, answer: answer)
  }
}
