import BlueZ
import BusValue
import Testing

@testable import MachineSetup

@Suite("The adapter, as bluetoothd tells of it") struct AdapterStateTests {
  private func objects(_ adapters: [String: Properties]) -> Value {
    var entries: [Value: Value] = [
      .path(ObjectPath(unchecked: "/org/bluez")): .dictionary(
        key: "s", value: "a{sv}", [.string(InterfaceName.agentManager): .properties([:])])
    ]
    for (path, properties) in adapters {
      entries[.path(ObjectPath(unchecked: path))] = .dictionary(
        key: "s", value: "a{sv}", [.string(InterfaceName.adapter): .properties(properties)])
    }
    return .dictionary(key: "o", value: "a{sa{sv}}", entries)
  }

  @Test("H2: none, of no objects and of others") func none() {
    #expect(AdapterState.first(in: nil) == nil)
    #expect(AdapterState.first(in: .bool(true)) == nil)
    #expect(AdapterState.first(in: objects([:])) == nil)
  }

  @Test("H2: of two the first by name; one that is blocked is known as such") func first() {
    let state = AdapterState.first(
      in: objects([
        "/org/bluez/hci1": ["Powered": .bool(true)],
        "/org/bluez/hci0": ["Powered": .bool(false), "PowerState": .string("off-blocked")],
      ]))
    #expect(state?.name == "hci0")
    #expect(state?.isPowered == false)
    #expect(state?.isBlocked == true)
  }

  @Test("H2: bluetoothd before 5.65 has no PowerState: nothing is known to be blocked") func old() {
    let state = AdapterState.first(in: objects(["/org/bluez/hci0": ["Powered": .bool(false)]]))
    #expect(state?.powerState == nil)
    #expect(state?.isBlocked == false)
  }
}
