/// The vocabulary of the journal: what this project's programs record, and the names of the programs there.
public enum Recorded {
  public static let agent = "latchkey-agent"
  public static let lock = "latchkey-lock"
  public static let daemon = "latchkeyd"
  public static let simulator = "bluez-simulator"
  /// Programs that see links from outside: the air between virtual machines and, below, bluetoothd itself.
  public static let air = "air"
  public static let bluetoothd = "bluetoothd"
  /// The program that tells a story. Its marks stand between the entries of the processes.
  public static let orchestrator = "orchestrator"

  /// All kinds of events.
  public static let vocabularies: [any JournalEvent.Type] = [
    Agent.self, Lock.self, Daemon.self, Radio.self, Story.self,
  ]

  /// The names of all programs that record events.
  public static let processes = vocabularies.flatMap { $0.processes }
}
