import ArgumentParser
import ConsoleOutput
import Foundation
import LatchkeyVersion
import MachineDiagnosis
import Worlds

struct DoctorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor", abstract: "Checks whether this machine can keep its promise, and says what mends it.",
    discussion: """
      The promise: a request that is held comes true after days, the app is started again, and the door opens. Each \
      finding says what was found, why it matters, and the command that mends it; the faults come last. Nothing is \
      changed. As root it sees more. Exits with 0 if nothing breaks the promise, even if there are warnings, and with \
      1 otherwise.
      """)

  @Flag(help: "Prints all findings as JSON, for programs.")
  var json = false

  func run() throws {
    let machine = MachineObserver(.real, programFolder: try? Executables.ownFolder()).observe()
    let diagnosis = Diagnosis(machine)
    if json {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      let report = DiagnosisReport(diagnosis, version: LatchkeyVersion.current)
      Console.say(String(decoding: try encoder.encode(report), as: UTF8.self))
    } else {
      Console.say(DiagnosisScreen(diagnosis, .output).lines.joined(separator: "\n"))
    }
    Console.end(program: "latchkey")
    if !diagnosis.keepsPromise { throw ExitCode(1) }
  }
}
