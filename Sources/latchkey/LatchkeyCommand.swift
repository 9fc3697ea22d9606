import ArgumentParser
import ConsoleOutput
import LatchkeyVersion

@main
enum Main {
  static func main() {
    Console.begin()
    LatchkeyCommand.main()
    Console.end(program: "latchkey")
  }
}

/// The command for users.
struct LatchkeyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "latchkey",
    abstract:
      "Runs Latchkey: checks its promises in a simulated world or in machines' journals, creates keys, and controls a "
      + "machine's latchkeyd.",
    version: LatchkeyVersion.current,
    subcommands: [
      ProveCommand.self, JudgeCommand.self, ShowCommand.self, SetupCommand.self, ProvisionCommand.self,
      AppsCommand.self,
      OpenCommand.self,
      UnlockCommand.self, LockDoorCommand.self, DoorCommand.self, LogCommand.self, EnrollCommand.self, RoomCommand.self,
      OwnersCommand.self,
      GuestsCommand.self,
      LeaveCommand.self, QuitCommand.self, ReclaimCommand.self, AllowCommand.self, BluetoothCommand.self,
      StatusCommand.self, WatchCommand.self, WakesCommand.self, AlertsCommand.self, PairCommand.self,
      PairingsCommand.self, DoctorCommand.self,
      GuardCommand.self, BurglarCommand.self,
    ])
}
