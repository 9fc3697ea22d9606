import AppLink
import CoreBluetoothTestKit
import Dispatch
import Testing

@Suite("What a user asked of an app and no longer waits for", .timeLimit(.minutes(20)))
struct WithdrawnActionTests {
  @Test("L8: an app hears in the order in which it was asked that nobody waits any more")
  func order() async throws {
    let system = ScriptedSystem()
    let queue = DispatchQueue(label: "actions")
    let asked = Inbox<String>()
    let withdrawn = Inbox<String>()
    system.run {
      UserActions.setHandler(queue: queue) { action in
        action.onWithdrawal(queue: queue) { withdrawn.put(action.name) }
        asked.put(action.name)
      }
    }
    system.attach()
    let names = (1...20).map { "action \($0)" }
    for (number, name) in names.enumerated() {
      system.emit(.actionRequested(ActionIdentifier(UInt64(number)), name: name), to: nil)
    }
    for name in names { #expect(try await asked.next() == name) }
    system.detach()
    for name in names { #expect(try await withdrawn.next() == name) }
  }
}
