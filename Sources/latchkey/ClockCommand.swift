import AgentQuestions
import ArgumentParser
import Foundation
import MachinePresentation

struct ClockCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "clock", abstract: "Sets the lock's clock, by which guests come, to this phone's.",
    discussion: """
      An owner's phone that has guests does that by itself, except where the lock's clock is ahead of its own, or more than an hour \
      behind: to set it back makes invitations count again that are over, and to set it forward ends some that are not.
      """)
  @OptionGroup var options: GuestOptions

  func run() throws {
    let answer = try options.ask(.clock, DoorQuestion(door: options.door), ClockAnswer.self)
    let moment = LocalClock.machine.second(Double(answer.unixSeconds), now: Date().timeIntervalSince1970)
    try options.show(answer, "The lock's clock is set: \(moment).")
  }
}
