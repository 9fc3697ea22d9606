import ProcessTesting
import Testing

/// latchkeyd on a machine with two adapters, in processes (docs/bluez.md, "What keeps a connection request").
@Suite("A latchkeyd with two adapters", .timeLimit(.minutes(20))) struct TwoAdaptersTests {
  private static func plug(_ name: String, _ isOn: Bool) -> String {
    "{\"plug\":{\"machine\":\"\(name)\",\"isOn\":\(isOn)}}"
  }

  @Test(
    "C: latchkeyd uses the configured adapter; it ignores the end of the other, and its own comes back",
    arguments: [("hci0", "phone"), ("hci1", "phone/hci1")])
  func chooses(_ adapter: String, _ own: String) async throws {
    let machine = try await MachineNearDoor(adapters: 2, options: ["--adapter", adapter])
    defer { machine.removeFolder() }
    if adapter == "hci0" {
      try await machine.obey(Self.plug("phone/hci1", false))
      let heard = try await machine.reader.hear("read ")
      #expect(!heard.contains("lost") && !heard.contains("off"))
    }
    // The machine's name alone stands for both. The remaining adapter is not the one that latchkeyd was told to use.
    try await machine.obey(Self.plug(own, false))
    try await machine.reader.hear("off")
    try await machine.obey(Self.plug(own, true))
    try await machine.reader.hear("on")
    try await machine.reader.hear("read ")
  }
}
