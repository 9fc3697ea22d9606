import BlueZ
import Testing

@testable import BlueZBus

@Suite("What a client of bluetoothd exports")
struct ExportedObjectsTests {
  private let register = Request.registerAgent(path: Sample.agent, capability: .keyboardDisplay)
  private let unregister = Request.unregisterAgent(path: Sample.agent)

  @Test("a path that is exported is refused to another until it has been asked to be let go")
  func again() {
    var exports = ExportedObjects()
    #expect(exports.add(register) == nil)
    exports.finish(register, succeeded: true)
    #expect(exports.add(register) == .alreadyExists)
    #expect(exports.add(unregister) == nil)
    #expect(exports.add(register) == nil, "bluetoothd serves one client's calls in order")
  }

  @Test("the late answer to an unregistration leaves what was registered meanwhile")
  func lateAnswer() {
    var exports = ExportedObjects()
    #expect(exports.add(register) == nil)
    #expect(exports.add(unregister) == nil)
    #expect(exports.add(register) == nil)
    exports.finish(unregister, succeeded: true)
    exports.finish(register, succeeded: true)
    #expect(exports.add(register) == .alreadyExists, "it is exported still")
  }

  @Test("what bluetoothd did not let go stays exported")
  func refused() {
    var exports = ExportedObjects()
    #expect(exports.add(register) == nil)
    #expect(exports.add(unregister) == nil)
    exports.finish(unregister, succeeded: false)
    #expect(exports.add(register) == .alreadyExists)
  }
}
