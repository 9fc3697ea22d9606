import LockFirmware
import LockProtocol
import Testing

@testable import latchkey_lock

@Suite("What a driver says") struct DriverSessionTests {
  private func session() throws -> DriverSession {
    var session = DriverSession()
    #expect(session.start() == [.send(.hello)])
    #expect(try session.hear(#"{"type":"hello","version":1,"name":"test"}"#).isEmpty)
    let ready = try session.hear(
      #"{"type":"state","locked":true,"unlocked":false,"door":"closed","battery":40,"tamper":false}"#)
    #expect(ready.dropFirst() == [.report(.batteryChanged(40)), .report(.tamperChanged(isOpen: false))])
    return session
  }

  @Test("L6: a turn ends where the switches say, and a hand is told from the motor") func turns() throws {
    var session = try session()
    #expect(session.turn(to: .unlocked) == [.send(.retract(1))])
    #expect(try session.hear(#"{"type":"state","locked":false,"unlocked":false,"door":"closed"}"#).isEmpty)
    #expect(try session.hear(#"{"type":"state","locked":false,"unlocked":true,"door":"closed"}"#).isEmpty)
    #expect(try session.hear(#"{"type":"stopped","id":1,"at":"unlocked"}"#) == [.report(.boltStopped(.unlocked))])
    #expect(
      try session.hear(#"{"type":"state","locked":true,"unlocked":false,"door":"open","hand":"inside"}"#) == [
        .report(.boltTurnedByHand(.locked, from: .inside)), .report(.doorChanged(.open)),
      ])
    #expect(
      try session.hear(#"{"type":"state","locked":false,"unlocked":true,"door":"open"}"#) == [
        .report(.boltFound(.unlocked))
      ])
    #expect(try session.hear(#"{"type":"mode","mode":"privacy"}"#) == [.report(.modeSet(.privacy))])
    #expect(try session.hear(#"{"type":"reset","pressed":true}"#) == [.report(.resetButton(isPressed: true))])
  }

  @Test("L6: what a state leaves out has not changed, and ends with the driver") func leftOut() throws {
    var session = try session()
    let bolt = #"{"type":"state","locked":true,"unlocked":false"#
    #expect(try session.hear(bolt + "}").isEmpty)
    #expect(try session.hear(bolt + #","door":"closed","battery":40,"tamper":false}"#).isEmpty)
    #expect(try session.hear(bolt + #","battery":39.9}"#) == [.report(.batteryChanged(39))])
    #expect(try session.hear(bolt + #","door":"open"}"#) == [.report(.doorChanged(.open))])
    #expect(try session.hear(bolt + "}").isEmpty)
    // Another run, without those sensors: an alarm about one of them must not last for ever.
    var next = DriverSession()
    _ = try next.hear(#"{"type":"hello","version":1,"name":"test"}"#)
    #expect(
      try next.hear(bolt + "}").dropFirst() == [
        .report(.batteryChanged(nil)), .report(.tamperChanged(isOpen: false)),
      ])
  }

  @Test("L6: a message has its own fields, and others are ignored whatever they are") func otherFields() throws {
    var session = try session()
    #expect(
      try session.hear(
        #"{"type":"state","locked":true,"unlocked":false,"id":"abc","name":7,"version":"1.2","mode":1,"at":0,"x":[]}"#
      ).isEmpty)
    #expect(
      try session.hear(#"{"type":"mode","mode":"privacy","id":{},"locked":"no"}"#) == [.report(.modeSet(.privacy))])
  }

  @Test("L6: a driver may say so much a second, also in a time in which the lock stood still") func rate() throws {
    var session = try session()
    let line = #"{"type":"state","locked":true,"unlocked":false}"#
    for _ in 0..<100 {
      session.makeRoom(milliseconds: 1000)
      for _ in 0..<50 { _ = try session.hear(line) }
    }
    session.makeRoom(milliseconds: 12_800)
    for _ in 0..<640 { _ = try session.hear(line) }
    for _ in 0..<1000 {
      session.makeRoom(milliseconds: 1)
    }
    for _ in 0..<190 { _ = try session.hear(line) }
    session.makeRoom(milliseconds: 0)
    #expect(throws: DriverFault.self) { for _ in 0..<100 { _ = try session.hear(line) } }
  }

  @Test("L6: a lock that was frozen for days does not blame its driver") func frozen() throws {
    var session = try session()
    // Each tick sends one ping. However long a tick took, its answer comes after it.
    for number in 1...1000 as ClosedRange<UInt64> {
      session.makeRoom(milliseconds: 1000)
      #expect(try session.tick() == [.send(.ping(number))])
      #expect(try session.hear(#"{"type":"pong","id":\#(number)}"#).isEmpty)
    }
    for _ in 0..<DriverSession.unansweredLimit { _ = try session.tick() }
    #expect(throws: DriverFault.self) { try session.tick() }
  }

  @Test("L6: a driver that never says how replaced turns ended is ended, before they fill the memory") func replaced()
    throws
  {
    var session = try session()
    for _ in 0...DriverSession.replacedTurnLimit { _ = session.turn(to: .unlocked) }
    _ = try session.tick()
    for _ in 0..<1000 { _ = session.turn(to: .locked) }
    #expect(throws: DriverFault.self) { try session.tick() }

    // One that says it late is none of these.
    var late = try self.session()
    for turn in 1...100 as ClosedRange<UInt64> {
      _ = late.turn(to: .unlocked)
      if turn > 8 { #expect(try late.hear(#"{"type":"stopped","id":\#(turn - 8),"at":"locked"}"#).isEmpty) }
      if turn % 50 == 0 {
        let actions = try late.tick()
        guard case .send(.ping(let number)) = actions.first else { continue }
        _ = try late.hear(#"{"type":"pong","id":\#(number)}"#)
      }
    }
  }

  @Test("L6: a motor that was told to stop must say so") func stops() throws {
    var session = try session()
    _ = session.turn(to: .unlocked)
    #expect(session.stop() == [.send(.stop)])
    for number in 1...3 as ClosedRange<UInt64> {
      _ = try session.tick()
      _ = try session.hear(#"{"type":"pong","id":\#(number)}"#)
    }
    #expect(throws: DriverFault.self) { try session.tick() }
  }

  @Test("L6: a turn that begins before the one that was stopped has ended is not taken for a contradiction")
  func turnAfterStop() throws {
    var session = try session()
    _ = session.turn(to: .unlocked)
    _ = session.stop()
    #expect(session.turn(to: .locked) == [.send(.extend(2))])
    _ = try session.hear(#"{"type":"state","locked":false,"unlocked":false,"door":"closed"}"#)
    #expect(try session.hear(#"{"type":"stopped","id":1,"at":"between"}"#).isEmpty)
    #expect(session.turning == .locked)
    _ = try session.hear(#"{"type":"state","locked":true,"unlocked":false,"door":"closed"}"#)
    #expect(try session.hear(#"{"type":"stopped","id":2,"at":"locked"}"#) == [.report(.boltStopped(.locked))])
    #expect(throws: DriverFault.self) { try session.hear(#"{"type":"stopped","id":1,"at":"locked"}"#) }
  }

  @Test(
    "L6: what is no report is refused",
    arguments: [
      "", "[]", "{}", #"{"type":"state"}"#, #"{"type":"state","locked":1,"unlocked":0}"#,
      #"{"type":"state","locked":true,"unlocked":true}"#,
      #"{"type":"state","locked":true,"unlocked":false,"door":"shut"}"#,
      #"{"type":"state","locked":true,"unlocked":false,"battery":101}"#, #"{"type":"stopped","id":-1,"at":"locked"}"#,
      #"{"type":"stopped","id":9,"at":"locked"}"#, #"{"type":"pong","id":7}"#, #"{"type":"mode","mode":"vacation"}"#,
      #"{"type":"hello","version":1}"#, #"{"type":"open sesame"}"#,
    ])
  func refused(_ line: String) throws {
    var session = try session()
    #expect(throws: DriverFault.self) { try session.hear(line) }
  }

  @Test("L6: a command is words, and no shell") func commands() throws {
    let command = try DriverCommand(#" /usr/bin/env  python3 'a b'c "d\"e" f\ g $HOME ; "" "#)
    #expect(command.program == "/usr/bin/env")
    #expect(command.arguments == ["python3", "a bc", "d\"e", "f g", "$HOME", ";", ""])
    for wrong in ["", "  ", "'a", "a\\", "\"\""] { #expect(throws: MechanismError.self) { try DriverCommand(wrong) } }
  }
}

extension DriverSession {
  fileprivate mutating func hear(_ line: String) throws(DriverFault) -> [Action] { try receive(Array(line.utf8)) }
}
