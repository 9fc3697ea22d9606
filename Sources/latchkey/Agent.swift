import AgentQuestions
import AppLink
import Foundation
import MachineSetup

/// The app that has the keys.
struct Agent {
  let app: String

  /// The bundle identifier of Latchkey's own agent.
  static let standard = SetupRole.phone.app

  /// Asks it, through this machine's latchkeyd. Ends with a line on the error output and status 1 if there is no answer.
  /// - Parameter isWord: the question is a person's word, which is taken back if they give up waiting.
  func ask<Answer: Decodable>(
    _ question: AgentQuestion, _ argument: some Encodable, _ type: Answer.Type, isWord: Bool = false
  ) throws -> Answer {
    try SystemControl.reporting {
      let text = try text(question, argument, isWord: isWord)
      do { return try JSONDecoder().decode(type, from: Data(text.utf8)) } catch {
        throw AgentProblem(
          description: "the answer of \(app) can't be read: install latchkey and the app from one release")
      }
    }
  }

  /// Asks it, and returns its answer as it is.
  /// - Throws: `AgentProblem` if there is no agent on this machine, and `AppLinkError`.
  func text(_ question: AgentQuestion, _ argument: some Encodable, isWord: Bool = false) throws -> String {
    do {
      let (name, argument) = (question.rawValue, try Self.json(argument))
      return try SystemControl.ask(app: app, name: name, argument: argument, isWord: isWord)
    } catch let error as AppLinkError where error.code == .unknownApp && app == Self.standard {
      throw AgentProblem.noAgent(isLock: SystemControl.knows(SetupRole.lock.app))
    }
  }

  static func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }
}

struct AgentProblem: Error, CustomStringConvertible {
  let description: String

  /// The problem if there is no agent. Usually the person is at the wrong machine.
  static func noAgent(isLock: Bool) -> AgentProblem {
    AgentProblem(
      description: isLock
        ? "this is the lock's machine, and it has no agent, which has the keys: run this on the phone's machine. "
          + "`latchkey status` shows the lock here"
        : "this machine has no agent, which has the keys: run this on the phone's machine, or make this one a phone's: "
          + "install the package latchkey-agent, then `latchkey setup phone`")
  }
}
