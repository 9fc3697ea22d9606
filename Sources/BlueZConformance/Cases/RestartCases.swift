import BlueZ
import BusValue

/// bluetoothd, or the whole machine, ends and starts again.
enum RestartCases {
  static let all =
    [true, false].flatMap { [phoneRestarts(killed: $0), lockRestarts(killed: $0)] } + [
      lockRestartsWhileAway, phoneReboots, hashRace,
    ]

  private static func phoneRestarts(killed: Bool) -> ConformanceCase {
    ConformanceCase("the phone's bluetoothd is \(killed ? "killed" : "restarted")") { stage in
      let app = try await stage.phone.client("app")
      try await stage.bond(profile: app)
      // Out of range; otherwise the kernel of a dead bluetoothd would connect before the next one starts.
      try await stage.step("lost") { try await stage.lose() }
      try await stage.step("it goes and comes") { try await stage.restart(stage.phone, killed: killed) }
      try await stage.step("back in range") {
        let isBack = try await stage.returns(within: .seconds(20))
        stage.expect(
          isBack == killed,
          killed ? "a kernel that has been on all the time connects once more" : "not armed after the start")
      }
      stage.expect(stage.phone.isBonded, "the bond is on its disk")
      try await stage.step("the profile is registered again") {
        try await stage.success(
          app.registerApplication(ConformanceService.profile(), at: ConformanceService.profileRoot))
        try await stage.need("the link", atMost: .seconds(60)) { stage.phone.isResolved && stage.lock.isConnected }
      }
    }
  }

  private static func lockRestarts(killed: Bool) -> ConformanceCase {
    ConformanceCase("the lock's bluetoothd is \(killed ? "killed" : "restarted")") { stage in
      try await stage.bond(profile: stage.phone.main)
      try await stage.step("the phone subscribes") {
        try await stage.success(stage.phone.characteristic("offer", "StartNotify"))
      }
      try await stage.step("it goes and comes") {
        try await stage.restart(stage.lock, killed: killed)
        try await stage.need("the loss at the phone", atMost: .seconds(60)) { !stage.phone.isConnected }
      }
      stage.lock.main.forgetIncoming("offer.StartNotify")
      try await stage.step("the application registers again", quiet: .seconds(8)) {
        try await stage.success(
          stage.lock.main.registerApplication(ConformanceService.door(), at: ConformanceService.root))
        try await stage.success(stage.lock.main.registerAdvertisement())
        try await stage.need("the link", atMost: .seconds(60)) { stage.phone.isResolved && stage.lock.isConnected }
      }
      // A link that was lost while the phone's bluetoothd subscribed again has cost it the session.
      try await stage.step("the phone subscribes once more") {
        try await stage.success(stage.phone.characteristic("offer", "StartNotify"))
      }
      stage.expect(
        stage.lock.main.incoming("offer.StartNotify") != nil,
        "after a restart of the lock's bluetoothd its application hears StartNotify")
    }
  }

  static let lockRestartsWhileAway = ConformanceCase("the lock's bluetoothd is restarted while away") { stage in
    try await stage.bond(profile: stage.phone.main)
    try await stage.step("lost") { try await stage.lose() }
    try await stage.step("the lock's bluetoothd goes and comes, its application registers") {
      try await stage.restart(stage.lock, killed: false)
      try await stage.success(
        stage.lock.main.registerApplication(ConformanceService.door(), at: ConformanceService.root))
      try await stage.success(stage.lock.main.registerAdvertisement())
    }
    try await stage.step("back in range", quiet: .seconds(8)) {
      stage.expect(try await stage.returns(), "still armed")
    }
    stage.expect(stage.phone.has("lock/door/offer"), "the door's service is there")
  }

  static let phoneReboots = ConformanceCase("the phone reboots") { stage in
    try await stage.bond(profile: stage.phone.main)
    try await stage.step("shut down and booted", quiet: .seconds(10)) {
      stage.phone.closeAll()
      try await stage.perform(.reboot(.phone))
      try stage.phone.reopen()
      try await stage.need("the adapter", atMost: .seconds(300)) { stage.phone.isPowered && stage.phone.hasDevice }
    }
    stage.expect(stage.phone.isBonded, "the bond survives")
    try await stage.step("the device as it is now") {
      stage.phone.main.describe("lock", InterfaceName.device)
    }
    try await stage.register(profile: stage.phone.main)
    stage.expect(
      await stage.recorder.wait(atMost: .seconds(60)) { stage.phone.isResolved ? true : nil } ?? false,
      "armed and connected as soon as the profile is registered")
  }

  /// The lock's bluetoothd is new, and the phone has connected and read its Database Hash before the application
  /// registered. The link is lost before the phone has learned what the application added.
  static let hashRace = ConformanceCase("the link drops while the lock's services change") { stage in
    try await stage.bond(profile: stage.phone.main)
    try await stage.step("the lock's bluetoothd is new, and serves nothing") {
      try await stage.restart(stage.lock, killed: false)
      try await stage.need("the loss at the phone", atMost: .seconds(60)) { !stage.phone.isConnected }
      try await stage.success(stage.lock.main.registerAdvertisement())
      try await stage.need("the link", atMost: .seconds(60)) { stage.phone.isResolved && stage.lock.isConnected }
    }
    try await stage.step("the application registers, and the link is lost over it", quiet: .seconds(8)) {
      try await stage.success(
        stage.lock.main.registerApplication(ConformanceService.door(), at: ConformanceService.root))
      try await stage.lose()
    }
    try await stage.step("back in range", quiet: .seconds(8)) {
      stage.expect(try await stage.returns(), "still armed")
    }
    try await stage.step("what the phone believes") {
      await stage.recorder.pass(.seconds(5))
    }
    stage.expect(stage.phone.has("lock/door/offer"), "the door's service is there")
  }
}
