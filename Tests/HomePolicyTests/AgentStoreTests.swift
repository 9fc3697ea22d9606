import Foundation
import HomePolicy
import Logging
import Testing

@testable import latchkey_agent

@Suite("The agent's state on disk") struct AgentStoreTests {
  private let directory = NSTemporaryDirectory() + "latchkey-agent-" + UUID().uuidString
  private let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
  private var file: URL { URL(fileURLWithPath: directory + "/agent.json") }

  private func inFolder(_ body: () throws -> Void) throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try body()
  }

  private func writeSomething() throws -> AgentState {
    let store = try AgentStore(directory: directory, logger: logger)
    var state = store.state
    state.lock = UUID()
    state.home.isLinked = true
    try store.write(state)
    return state
  }

  @Test("L3: what was stored is there after a restart") func restart() throws {
    try inFolder {
      let state = try writeSomething()
      #expect(try AgentStore(directory: directory, logger: logger).state == state)
    }
  }

  @Test("A damaged state is kept aside; a newer one is refused and left as it is") func damaged() throws {
    try inFolder {
      _ = try writeSomething()
      let newer = Data(#"{"version":3,"writer":"7.1.0"}"#.utf8)
      try newer.write(to: file)
      let refusal = #expect(throws: AgentStoreError.self) { try AgentStore(directory: directory, logger: logger) }
      let text = refusal?.description ?? ""
      for part in ["newer latchkey-agent (7.1.0; format 3)", "Install latchkey-agent 7.1.0", file.path] {
        #expect(text.contains(part), "\(text)")
      }
      #expect(try Data(contentsOf: file) == newer)
      let garbage = Data("{".utf8)
      try garbage.write(to: file)
      #expect(try AgentStore(directory: directory, logger: logger).state == AgentState())
      #expect(try Data(contentsOf: URL(fileURLWithPath: directory + "/agent.json.damaged")) == garbage)
    }
  }

  @Test("A9: where the state is missing or empty the agent starts with no past, in which nothing was to be opened")
  func missing() throws {
    try inFolder {
      _ = try writeSomething()
      try FileManager.default.removeItem(at: file)
      #expect(try AgentStore(directory: directory, logger: logger).state == AgentState())
      _ = try writeSomething()
      try Data().write(to: file)
      #expect(try AgentStore(directory: directory, logger: logger).state == AgentState())
    }
  }

  @Test("A state of an earlier version, stored without a mark, counts, and is marked") func unmarked() throws {
    try inFolder {
      let state = try writeSomething()
      let mark = directory + "/agent.json.made"
      try FileManager.default.removeItem(atPath: mark)
      let store = try AgentStore(directory: directory, logger: logger)
      #expect(store.state == state)
      #expect(FileManager.default.fileExists(atPath: mark))
    }
  }

  @Test("Two agents on one state: the second is refused") func inUse() throws {
    try inFolder {
      let first = try AgentStore(directory: directory, logger: logger)
      #expect(throws: AgentStoreError.self) { try AgentStore(directory: directory, logger: logger) }
      withExtendedLifetime(first) {}
    }
  }
}
