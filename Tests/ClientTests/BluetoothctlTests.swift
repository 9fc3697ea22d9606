import ProcessTesting
import Testing

/// The lock's service, as any client sees it.
enum Lock {
  static let service = "b126f569-34d9-4140-a7ad-42cd26d0ff85"
  static let offer = "33818d1d-5751-4a1b-9838-98ab845634f9"
  static let command = "91cf470b-0c9c-4243-b5a9-37212bdd4ee8"
  static let quickCommand = "ff80a739-4311-4931-84a8-faadf4509150"
  static let answer = "d40ff2ee-283e-41ef-92a2-4d0b4638abd6"
  static let request = "1dc41928-00ef-428a-9998-5bb18df99102"
  static let reply = "7887665d-c151-49e1-b130-15a2ed43dcf0"
  static let enrolment = "33550af9-bbd5-46a1-a051-9ae564fb5c3f"
  /// The length of a Command.
  static let commandByteCount = 106
}

/// bluetoothctl from Debian's package bluez, as a person types into it.
@Suite("bluetoothctl on the simulator", .timeLimit(.minutes(20)))
struct BluetoothctlTests {
  private func bluetoothctl(_ door: LockedDoor, on machine: String) async throws -> TestProcess {
    let control = try await TestProcess(
      "/usr/bin/bluetoothctl", [], environment: door.environment(on: machine), mergesErrors: true)
    try await control.hear("Agent registered")
    return control
  }

  /// Scans until a device is found, and returns its address.
  private func discover(_ control: TestProcess) async throws -> String {
    try await control.ask("scan on", "Discovery started")
    try await control.hear("] Device ")
    let address = String(try await control.hear(" ").dropLast())
    try await control.ask("scan off", "Discovery stopped")
    return address
  }

  /// The bytes in this many lines of a dump: after two blanks, 16 per line, up to the characters.
  private func bytes(_ control: TestProcess, lines: Int) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < 16 * lines {
      // The prompt was printed before it and then erased.
      let line = try await control.hear("\n").split(separator: "\r").last ?? ""
      guard line.hasPrefix("  ") else { continue }
      bytes += line.dropFirst(2).prefix(48).split(separator: " ").compactMap { UInt8($0, radix: 16) }
    }
    return bytes
  }

  @Test("H4: bluetoothctl finds the lock, pairs, connects, reads, writes and subscribes; what it writes opens nothing")
  func meetsTheLock() async throws {
    let door = try await LockedDoor()
    let control = try await bluetoothctl(door, on: "phone")
    let address = try await discover(control)
    let found = try await control.ask("info \(address)", "AdvertisingFlags")
    #expect(found.contains(Lock.service))
    #expect(found.contains("Paired: no"))

    try await control.ask("pair \(address)", "Pairing successful")
    try await control.hear("Name: door")
    let paired = try await control.ask("info \(address)", "AdvertisingFlags")
    for line in ["Name: door", "Paired: yes", "Bonded: yes", "Trusted: no", "Connected: yes"] {
      #expect(paired.contains(line), "\(paired)")
    }

    try await control.ask("menu gatt", "register-application")
    let attributes = try await control.ask("list-attributes \(address)", Lock.answer)
    #expect(attributes.contains(Lock.offer) && attributes.contains(Lock.command))
    try await control.ask("select-attribute \(Lock.offer)", "char")
    let offer = try await control.ask("attribute-info", "MTU: 0x0205")
    for line in ["UUID: \(Lock.offer)", "Notifying: no", "Flags: read", "Flags: notify"] {
      #expect(offer.contains(line), "\(offer)")
    }
    try await control.ask("notify on", "Notify started")
    try await control.hear("Value:")
    let notified = try await bytes(control, lines: 2)
    #expect(Set(notified).count > 8)
    try await control.ask("read", "Attempting to read")
    try await control.hear("Value:")
    let read = try await bytes(control, lines: 2)
    #expect(Set(read).count > 8)

    try await control.ask("select-attribute \(Lock.command)", "char")
    try await control.ask("read", "Failed to read: org.bluez.Error.NotPermitted")
    try await control.ask("notify on", "Failed to start notify: org.bluez.Error.NotSupported")
    let garbage = (0..<Lock.commandByteCount).map { "0x" + String($0, radix: 16) }.joined(separator: " ")
    try await control.ask("write \"\(garbage)\"", "Failed to write: org.bluez.Error.NotAuthorized")
    try await control.ask("write \"0x01 0x02 0x03\"", "Failed to write: org.bluez.Error.NotAuthorized")
    #expect(
      try door.events(.commandRefused).map { $0[.reason] } == ["authenticationFailed", "wrongLength"])
    #expect(try door.events(.commandAccepted, .boltMoved).isEmpty)

    try await control.ask("select-attribute \(Lock.offer)", "char")
    try await control.ask("notify off", "Notify stopped")
    try await control.ask("back", "Menu main")
    try await control.ask("disconnect", "Successful disconnected")
    try await control.ask("connect \(address)", "Connection successful")
    try await control.ask("remove \(address)", "Device has been removed")
    control.say("quit")
    #expect(try await control.finish().status == 0)
  }

  @Test("attack 25: who connects to the lock and proves nothing loses the link after 30 s")
  func provesNothing() async throws {
    let door = try await LockedDoor()
    let control = try await bluetoothctl(door, on: "phone")
    let address = try await discover(control)
    try await control.ask("connect \(address)", "Connection successful")
    try await control.hear("Connected: no")
    control.say("quit")
    #expect(try await control.finish().status == 0)
  }

  @Test("H4: both users of bluetoothctl are asked about the same passkey; a no ends the pairing, a yes makes the bond")
  func agents() async throws {
    let door = try await LockedDoor(hasLock: false)
    let near = try await bluetoothctl(door, on: "phone")
    let far = try await bluetoothctl(door, on: "door")
    try await far.ask("advertise on", "Advertising object registered")
    let address = try await discover(near)

    func pair(_ answer: String) async throws {
      try await near.ask("pair \(address)", "Attempting to pair")
      try await near.hear("Confirm passkey ")
      let passkey = try await near.hear(" ")
      // The same number. An earlier prompt may be printed once more before it.
      try await far.hear("Confirm passkey \(passkey)")
      near.say("yes")
      far.say(answer)
    }
    try await pair("no")
    try await near.hear("Failed to pair: org.bluez.Error.Authentication")
    try await pair("yes")
    try await near.hear("Pairing successful")
    try await far.hear("Paired: yes")
  }

  @Test("The user of latchkeyd's machine is asked; a no refuses, a yes makes the bond, and without a user none is made")
  func asksTheUser() async throws {
    let door = try await LockedDoor()
    let control = try await bluetoothctl(door, on: "phone")
    try await control.ask("agent off", "Agent unregistered")
    try await control.ask("agent KeyboardDisplay", "Agent registered")
    try await control.ask("default-agent", "Default agent request successful")
    let address = try await discover(control)
    let user = try await TestProcess(
      LockedDoor.programs + "/latchkey", ["pairings", "--for", "80"], environment: door.environment(on: "door"),
      mergesErrors: true)

    try await user.hear("Devices that want to pair are asked about here.")

    func pair(_ answer: String) async throws {
      try await control.ask("pair \(address)", "Attempting to pair")
      try await control.hear("Confirm passkey ")
      let passkey = try await control.hear(" ").dropLast()
      control.say("yes")
      try await user.hear("Does it show \(passkey)? [y/N]")
      user.say(answer)
    }
    try await pair("n")
    try await control.hear("Failed to pair: org.bluez.Error.Authentication")
    try await pair("y")
    try await control.hear("Pairing successful")
  }

  @Test("H4: objects come in the order that bluetoothctl relies on, with the standard interfaces")
  func order() async throws {
    let door = try await LockedDoor(hasLock: false)
    let send = try await TestProcess(
      "/usr/bin/dbus-send",
      ["--system", "--print-reply", "--dest=org.bluez", "/", "org.freedesktop.DBus.ObjectManager.GetManagedObjects"],
      environment: door.environment(on: "phone"), mergesErrors: true)
    let outcome = try await send.finish()
    #expect(outcome.status == 0)
    // It fails at an adapter whose Adapter1 did not come first.
    let places = [
      "/org/bluez", "org.freedesktop.DBus.Introspectable", "/org/bluez/hci0", "org.bluez.Adapter1",
      "org.bluez.GattManager1", "org.bluez.LEAdvertisingManager1", "org.freedesktop.DBus.Properties",
    ].map { outcome.output.range(of: "\"\($0)\"")?.lowerBound }
    #expect(places.allSatisfy { $0 != nil }, "\(outcome.output)")
    #expect(places.compactMap(\.self).sorted() == places.compactMap(\.self), "\(outcome.output)")
  }
}
