import AppLink
import AppLinkBus
import ArgumentParser
import ConsoleOutput
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

  /// Attends until `isDone`, by asking repeatedly. The system answers within ten seconds each time.
  func attend(until isDone: () -> Bool) throws {
    let control = try MachineControl(address: nil)
    var shown: Set<UInt64> = []
    var isAnnounced = false
    while !isDone() {
      guard let status = try control.perform(.attendPairings) else { return }
      if !isAnnounced {
        Self.say("Devices that want to pair are asked about here.")
        isAnnounced = true
      }
      for question in status.pairings where shown.insert(question.identifier).inserted {
        if let answer = answer(question) { try control.perform(.answerPairing(answer)) }
      }
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
    let end = seconds.map { ContinuousClock.now + .seconds($0) }
    try SystemControl.reporting {
      try PairingDesk(reply: answer).attend { end.map { ContinuousClock.now >= $0 } ?? false }
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
      let result = Mutex<Result<Void, any Error>?>(nil)
      let device = device
      // latchkeyd ends the pairing after a minute.
      try DetachedThread.start {
        let outcome = Result {
          _ = try MachineControl(address: nil).perform(.pair(device: device), limit: .seconds(75))
        }
        // The desk's own request, which is waiting meanwhile, ends by itself.
        result.withLock { $0 = outcome }
      }
      try PairingDesk(reply: answer).attend { result.withLock { $0 != nil } }
      try result.withLock { $0 }?.get()
      PairingDesk.say("Paired with \(device).")
    }
  }
}
