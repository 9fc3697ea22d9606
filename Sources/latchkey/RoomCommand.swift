import AgentQuestions
import ArgumentParser

/// Measures a room of the home, so that a phone that lies in it is not taken for one that comes home.
struct RoomCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "room", abstract: "Measures the lock's signal in this room.",
    discussion: """
      Say it in the room in which the lock is heard worst and in which people stay, with the phone where it is then; ten \
      seconds later the agent knows its signal. From then on a link counts as coming home only if it comes up weaker than \
      in the weakest room that was measured. This needs a link. Exits with 1 if the room could not be measured.
      """)
  @OptionGroup var options: DoorOptions
  @Flag(help: "Forget the rooms that were measured, for example after the lock was moved.") var forget = false
  @Flag(help: "Measure nothing; show what is known.") var show = false

  func validate() throws {
    guard !(forget && show) else { throw ValidationError("--forget and --show exclude each other.") }
  }

  func run() throws {
    let wish: RoomQuestion.Wish = forget ? .forget : show ? .show : .measure
    let answer = try options.ask(.room, RoomQuestion(door: options.door, wish: wish), RoomAnswer.self)
    try options.show(answer, Self.lines(answer))
  }

  /// The weakest signal at which a link usually comes up, in dBm: the sensitivity of common controllers.
  private static let edge = -94

  private static func lines(_ answer: RoomAnswer) -> [String] {
    var lines: [String] = []
    if let signal = answer.signal { lines.append("this room: \(signal) dBm") }
    lines.append("weakest room: \(answer.weakest.map { "\($0) dBm" } ?? "none was measured")")
    lines.append("coming home: a link that comes up at \(answer.limit) dBm or weaker")
    if answer.limit < edge {
      lines.append(
        "Few links come up that weak, so the agent will often ask at the door, unless it saw its phone leave. A lock that is heard better in that "
          + "room helps.")
    }
    return lines
  }
}
