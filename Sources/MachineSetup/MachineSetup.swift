import AppLink
import AppLinkBus
import Foundation
import LockCryptography
import LockProtocol

/// The result of setting up a machine.
package struct SetupOutcome: Sendable, Equatable {
  /// The text that introduces this side to the other.
  package var introduction: String
  /// Whether this side has been told about the other, or the agent knows a door.
  package var isComplete: Bool
  /// The code by which phones are enrolled at this lock.
  package var code: EnrolmentCode?
}

/// Carries out a plan on this machine.
package final class MachineSetup {
  private let request: SetupRequest
  private let role: SetupRole
  private let radio: RadioSettings?
  private let systemctl: Systemctl
  private let progress: (String) -> Void
  private static let adapterLimit = DispatchTimeInterval.seconds(10)

  /// - Parameters:
  ///   - radio: the settings of bluetoothd to write; `nil` leaves them as they are.
  ///   - progress: receives a line for each thing that is done.
  package convenience init(
    _ request: SetupRequest, radio: RadioSettings? = nil, progress: @escaping (String) -> Void
  ) {
    self.init(request, radio: radio, systemctl: Systemctl(), progress: progress)
  }

  init(
    _ request: SetupRequest, radio: RadioSettings? = nil, systemctl: Systemctl, progress: @escaping (String) -> Void
  ) {
    self.request = request
    self.radio = radio
    role = request.role
    self.systemctl = systemctl
    self.progress = progress
  }

  /// What this machine already has for a setup as `role`. Changes nothing.
  /// - Throws: `KeyFileError` if there are keys and they can't be read.
  package static func facts(_ role: SetupRole) throws -> MachineFacts {
    let files = FileManager.default
    let isRoot = geteuid() == 0
    var keys = PresentKeys.none
    // Only root can read the folder.
    if isRoot {
      switch role {
      case .lock where files.fileExists(atPath: "\(role.keyFolder)/\(LockKeys.fileName)"):
        let read = try LockKeys.read(fromDirectory: role.keyFolder)
        keys = .lock(phones: read.enrolledPhones, hasCode: read.code != nil)
      case .phone where files.fileExists(atPath: "\(role.keyFolder)/\(PhoneKeys.fileName)"):
        keys = .phone(lock: LockIntroduction(try PhoneKeys.read(fromDirectory: role.keyFolder)))
      case .phone where files.fileExists(atPath: "\(role.keyFolder)/\(PendingPhoneKey.fileName)"): keys = .pendingPhone
      default: break
      }
    }
    return MachineFacts(
      isRoot: isRoot, hasSystemd: files.fileExists(atPath: "/run/systemd/system"),
      hasSystem: files.fileExists(atPath: "/usr/lib/systemd/system/latchkeyd.service"),
      hasApp: files.fileExists(atPath: role.declaration), keys: keys)
  }

  /// Does everything that is asked for.
  /// - Returns: what this machine has now.
  /// - Throws: `SetupProblem`, `KeyFileError`. What was done before stays done, and does not harm a second attempt.
  package func run() throws -> SetupOutcome {
    for step in try SetupPlan(request, try Self.facts(role), radio: radio).steps { try perform(step) }
    switch (role, try Self.facts(role).keys) {
    case (.lock, _):
      let keys = try LockKeys.read(fromDirectory: role.keyFolder)
      return SetupOutcome(
        introduction: LockIntroduction(keys).text, isComplete: !keys.enrolledPhones.isEmpty,
        code: keys.code)
    case (.phone, .pendingPhone):
      let key = try PendingPhoneKey.read(fromDirectory: role.keyFolder)
      return SetupOutcome(introduction: PhoneIntroduction(key).text, isComplete: Self.hasDoors)
    case (.phone, _):
      let keys = try PhoneKeys.read(fromDirectory: role.keyFolder)
      return SetupOutcome(introduction: PhoneIntroduction(keys).text, isComplete: true)
    }
  }

  /// Whether the agent was enrolled at a lock, or invited to a door.
  private static var hasDoors: Bool {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: SetupRole.doorFolder)) ?? []
    return files.contains { $0.hasSuffix(".json") }
  }

  func perform(_ step: SetupStep) throws {
    switch step {
    case .enable(let unit):
      try systemctl.enable(unit)
      progress("\(unit) runs, and will at every boot")
    case .writeRadioSettings(let settings):
      guard try RadioSettingsFile().change({ settings.written(to: $0) }) else { return }
      progress("\(RadioSettings.path) has the settings of a fast arrival; bluetoothd starts anew with them")
      try systemctl.restartIfRunning("bluetooth.service")
    case .powerAdapter:
      let bluetooth: BluetoothBus
      do { bluetooth = try BluetoothBus() } catch { throw SetupProblem.failed(command: "dbus", reason: "\(error)") }
      let adapter = try bluetooth.adapter(within: Self.adapterLimit)
      try bluetooth.turnOn(adapter)
      progress("the Bluetooth adapter \(adapter.name) is on")
    case .makeLock(let phone):
      _ = try Provisioning.makeLock(
        directory: role.keyFolder, enrolledPhones: phone.map { [$0.publicKey] } ?? [])
      progress("the lock has its keys, in \(role.keyFolder)" + (phone == nil ? "" : ", and opens for the phone"))
    case .enroll(let phone):
      let keys = try LockKeys.enroll(phone, inDirectory: role.keyFolder)
      progress("the lock opens for the phone; it knows \(keys.enrolledPhones.count)")
    case .addCode:
      _ = try LockKeys.addCode(inDirectory: role.keyFolder)
      progress("the lock has a code, by which phones are enrolled")
    case .makePendingPhone:
      _ = try Provisioning.makePendingPhone(directory: role.keyFolder)
      progress("the phone has its key, in \(role.keyFolder)")
    case .makePhone(let lock):
      _ = try Provisioning.makePhone(directory: role.keyFolder, lock: lock)
      progress("the phone has its keys, for the lock, in \(role.keyFolder)")
    case .turnBluetoothOn: try control(.setBluetooth(on: true))
    case .endApp: try control(.reclaimApp(bundleIdentifier: role.app))
    case .startApp:
      try systemctl.start(role.unit)
      progress("the \(role.rawValue) runs: \(role.unit)")
    case .openApp:
      try control(.openApp(bundleIdentifier: role.app))
      try systemctl.start(role.unit)
      try control(.leaveApp(bundleIdentifier: role.app))
      progress("the agent runs, and is started when it is needed: \(role.unit)")
    }
  }

  private func control(_ request: ControlRequest) throws {
    do {
      _ = try MachineControl(address: nil).perform(request)
    } catch { throw SetupProblem.noSystem(reason: "\(error)") }
  }
}
