import BlueZModel
import BlueZSimulator
import Testing

/// What a person types, and the replies.
@Suite struct SimulatorLineReaderTests {
  @Test("By hand: a command is read, and `list` asks for what there is")
  func commands() throws {
    #expect(
      try SimulatorLineReader.read(#"{"id":1,"command":{"move":{"machine":"phone","x":40,"y":0}}}"#)
        == .request(SimulatorRequest(id: 1, command: .move(machine: "phone", x: 40, y: 0))))
    #expect(try SimulatorLineReader.read(#"{"id":2,"command":{"list":{}}}"#) == .survey(id: 2))
  }

  @Test(
    "By hand: a line that is not a command is refused with the reason",
    arguments: [
      ("move phone", UInt64(0), "not a JSON object"),
      (#"{"id":3}"#, 3, #""command" is an object with one key"#),
      (#"{"command":{"list":{}}}"#, 0, #""id" is missing"#),
      (#"{"id":-1,"command":{"list":{}}}"#, 0, #""id" is missing, or no number from 0"#),
      (#"{"id":1.5,"command":{"list":{}}}"#, 0, #""id" is missing, or no number from 0"#),
      (#"{"id":true,"command":{"list":{}}}"#, 0, #""id" is missing, or no number from 0"#),
      (#"{"id":18446744073709551616,"command":{"list":{}}}"#, 0, #""id" is missing, or no number from 0"#),
      (#"{"id":4,"command":{"fly":{"machine":"phone"}}}"#, 4, #"there is no "fly"; there are list, move, walk, "#),
      (#"{"id":5,"command":{"move":{"machine":"phone","x":1}}}"#, 5, #""y" is missing: "move" takes machine, x, y"#),
      (#"{"id":6,"command":{"move":{"machine":"phone","x":"far","y":0}}}"#, 6, #""x" is not what it should be"#),
      (#"{"id":7,"command":{"hear":{"machine":"phone","input":"music"}}}"#, 7, #""input" is not what it should be"#),
    ] as [(String, UInt64, String)])
  func refused(_ line: String, _ id: UInt64, _ reason: String) {
    let failure = #expect(throws: SimulatorLineReader.Failure.self) { try SimulatorLineReader.read(line) }
    #expect(failure?.id == id)
    #expect(failure?.reason.contains(reason) == true, "\(failure?.reason ?? "")")
  }
}
