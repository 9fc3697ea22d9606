import AppLink
import AppLinkBus
import ArgumentParser
import ConsoleOutput
import Dispatch
import Foundation
import Synchronization
import Threads

/// Answers questions of pairings, on the terminal.
struct PairingDesk {
  enum Reply: String, ExpressibleByArgument, CaseIterable {
    case yes
    case no
  }

  /// The answer to every question, or `nil` if the user is asked.
  let reply: Reply?

  /// A device chooses its own name, so control characters must not reach the terminal.
  static func describe(_ question: PairingQuestion) -> String {
    let name = String((question.name ?? "").unicodeScalars.filter { !$0.properties.isControl }.map { Character($0) })
    let device = name.isEmpty ? question.address : "\(name) (\(question.address))"
    let digits = String(question.passkey)
    let passkey = String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    return switch question.kind {
    case .compare: "\(device) wants to pair. Does it show \(passkey)?"
    case .authorize: "\(device) wants to pair, and has no number to compare. Allow it?"
    case .enter: "\(device) wants to pair. Which number does it show?"
    case .show: "Enter \(passkey) on \(device)."
    }
  }

  /// Written at once, even into a pipe.
  static func say(_ text: String, terminator: String = "\n") {
    Console.say(text, terminator: terminator)
  }

  func answer(_ question: PairingQuestion) -> PairingAnswer? {
    let text = Self.describe(question)
    let identifier = question.identifier
    switch question.kind {
    case .show:
      Self.say(text)
      return nil
    case .enter:
      Self.say(text, terminator: " ")
      guard reply == nil, let number = readLine().flatMap({ UInt32($0.trimmingCharacters(in: .whitespaces)) }) else {
        Self.say("Refused.")
        return PairingAnswer(question: identifier, isAccepted: false)
      }
      return PairingAnswer(question: identifier, isAccepted: true, passkey: number)
    case .compare, .authorize:
      Self.say("\(text) [y/N]", terminator: " ")
      let isAccepted: Bool
      if let reply {
        isAccepted = reply == .yes
        Self.say(reply.rawValue)
      } else {
        isAccepted = ["y", "yes"].contains((readLine() ?? "").trimmingCharacters(in: .whitespaces).lowercased())
      }
      return PairingAnswer(question: identifier, isAccepted: isAccepted)
    }
  }

  /// Attends, by asking repeatedly, on a thread of its own: the system may take ten seconds for each answer, and a person any time.
  func attend(until end: Ending) throws {
    try DetachedThread.start {
      end.come(
        Result {
          let control = try MachineControl(address: nil)
          var shown: Set<UInt64> = []
          while let status = try control.perform(.attendPairings) {
            end.begin()
            for question in status.pairings where shown.insert(question.identifier).inserted {
              if let answer = answer(question) { try control.perform(.answerPairing(answer)) }
            }
          }
        })
    }
  }

  /// How a command about pairings ends. The first end counts.
  final class Ending: Sendable {
    private let result = Mutex<Result<Void, any Error>?>(nil)
    private let hasBegun = Mutex(false)
    private let came = DispatchSemaphore(value: 0)
    private let greeting: String?

    init(greeting: String? = nil) { self.greeting = greeting }

    /// The system has answered: from now on, questions come here.
    func begin() {
      let isFirst = hasBegun.withLock { begun in
        defer { begun = true }
        return !begun
      }
      if isFirst, let greeting { PairingDesk.say(greeting) }
    }

    func come(_ end: Result<Void, any Error>) {
      result.withLock { $0 = $0 ?? end }
      came.signal()
    }

    /// Waits for the end, or for so long.
    func wait(seconds: Int?) throws {
      if let seconds { _ = came.wait(timeout: .now() + .seconds(seconds)) } else { came.wait() }
      try result.withLock { $0 }?.get()
    }
  }
}

extension Unicode.Scalar.Properties {
  fileprivate var isControl: Bool {
    switch generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
    default: false
    }
  }
}

struct PairingsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pairings",
    abstract: "Answers devices that want to pair, until it is interrupted or its time is over.",
    discussion: """
      While it runs, pairings compare numbers, and each is asked about here; a question without an answer is refused \
      after 25 seconds. While it does not run, only pairings that take no answer are granted, and only with devices that \
      an app has to do with.
      """)
  @Option(name: .customLong("for"), help: "Seconds after which it ends.") var seconds: Int?
  @Option(help: "Answers every question, instead of asking: yes or no.") var answer: PairingDesk.Reply?

  func validate() throws {
    if let seconds, seconds < 1 || seconds > 86400 { throw ValidationError("--for takes 1 to 86400 seconds.") }
  }

  func run() throws {
    try SystemControl.reporting {
      let end = PairingDesk.Ending(greeting: "Devices that want to pair are asked about here.")
      try PairingDesk(reply: answer).attend(until: end)
      try end.wait(seconds: seconds)
    }
  }
}

struct PairCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pair", abstract: "Pairs with a device, and answers its questions.")
  @Argument(help: "The device's address or its name.") var device: String
  @Option(help: "Answers every question, instead of asking: yes or no.") var answer: PairingDesk.Reply?

  func run() throws {
    try SystemControl.reporting {
      let end = PairingDesk.Ending()
      let device = device
      let control = try MachineControl(address: nil)
      PairingDesk.say("Looking for \(device), and pairing with it, for up to a minute.")
      // latchkeyd ends the pairing after a minute.
      try DetachedThread.start {
        end.come(Result { _ = try control.perform(.pair(device: device), limit: .seconds(75)) })
      }
      try PairingDesk(reply: answer).attend(until: end)
      try end.wait(seconds: nil)
      PairingDesk.say("Paired with \(device).")
    }
  }
}
