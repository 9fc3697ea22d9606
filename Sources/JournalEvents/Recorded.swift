/// The vocabulary of the journal: what this project's programs record, and the names of the programs there.
package enum Recorded {
  package static let agent = "latchkey-agent"
  package static let lock = "latchkey-lock"
  package static let daemon = "latchkeyd"
  package static let simulator = "bluez-simulator"
  /// Programs that see links from outside: the air between virtual machines and, below, bluetoothd itself.
  package static let air = "air"
  package static let bluetoothd = "bluetoothd"
  /// The program that tells a story. Its marks stand between the entries of the processes.
  package static let orchestrator = "orchestrator"

  /// All kinds of events.
  package static let vocabularies: [any JournalEvent.Type] = [
    Agent.self, Lock.self, Daemon.self, Radio.self, Story.self,
  ]

  /// The names of all programs that record events.
  package static let processes = vocabularies.flatMap { $0.processes }
}
