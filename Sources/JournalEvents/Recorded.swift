/// What this project's programs record: the journal's vocabulary, and the names that the programs have there.
public enum Recorded {
  public static let agent = "latchkey-agent"
  public static let lock = "latchkey-lock"
  public static let daemon = "latchkeyd"
  public static let simulator = "bluez-simulator"
  /// Those who see links from outside: the simulator's radio, the air between virtual machines, bluetoothd itself.
  public static let air = "air"
  public static let bluetoothd = "bluetoothd"
  /// Who tells a story; its marks stand between what the processes record.
  public static let orchestrator = "orchestrator"

  /// Every kind of event there is.
  public static let vocabularies: [any JournalEvent.Type] = [
    Agent.self, Lock.self, Daemon.self, Radio.self, Story.self,
  ]

  /// The names of all programs that record events.
  public static let processes = vocabularies.flatMap { $0.processes }
}
