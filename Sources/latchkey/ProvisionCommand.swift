import ArgumentParser
import ConsoleOutput
import Foundation
import LockCryptography

struct ProvisionCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "provision",
    abstract: "Creates the keys of a lock and of a phone that may open it.",
    discussion: "Writes files that only you can read into two folders; existing files are not changed.")

  @Option(help: "The lock's folder of keys.")
  var lock: String

  @Option(help: "The phone's folder of keys.")
  var phone: String

  func run() throws {
    do {
      let identity = try Provisioning.provision(lockDirectory: lock, phoneDirectory: phone)
      Console.say("lock \(identity): keys in \(lock), its phone's in \(phone)")
    } catch {
      Console.complain("latchkey: \(error)")
      throw ExitCode(1)
    }
  }
}
