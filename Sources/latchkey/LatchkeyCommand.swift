import ArgumentParser
import ConsoleOutput
import Glibc
import LatchkeyVersion

@main
enum Main {
  static func main() {
    Console.begin()
    refuseUnreadableArguments()
    CommandNames.refuseUnknown(Array(CommandLine.arguments.dropFirst()))
    do {
      var command = try LatchkeyCommand.parseAsRoot()
      do { try command.run() } catch let error as ValidationError { CommandNames.refuse(error, of: type(of: command)) }
    } catch { LatchkeyCommand.exit(withError: error) }
    Console.end(program: "latchkey")
  }

  /// Refuses arguments that are not UTF-8. Swift replaces each byte that is not text, which would change a guest's name
  /// or the path of a file.
  private static func refuseUnreadableArguments() {
    for number in 1..<max(1, Int(CommandLine.argc)) {
      guard let argument = CommandLine.unsafeArgv[number], String(validatingCString: argument) == nil else { continue }
      Console.complain(
        "latchkey: argument \(number) is not text in UTF-8: \(String(cString: argument)). What is typed on a terminal is, if its "
          + "locale is one of UTF-8 (`locale`).")
      exit(64)
    }
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
