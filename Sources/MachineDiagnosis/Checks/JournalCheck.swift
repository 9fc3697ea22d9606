import Foundation
import JournalEvents

extension MachineCheck {
  /// How far back the journal is read.
  package static let journalDays = 7

  static func journal(_ machine: MachineObservations) -> [Finding] {
    let events: [JournaledEvent]
    switch machine.journal {
    case .known(let known): events = known
    case .hidden(let reason):
      guard machine.latchkeyd.isInstalled else { return [] }
      return [
        Finding(
          .journalHidden, "latchkeyd's journal can't be read: \(reason)",
          because: "what went wrong in the last \(journalDays) days is not known",
          mend: machine.isRoot ? "systemctl status systemd-journald.service" : "sudo latchkey doctor")
      ]
    }
    let troubles = Trouble.all(in: events, now: machine.unixSeconds)
    guard !troubles.isEmpty else {
      return machine.latchkeyd.isInstalled
        ? [.fine(.journal, "no trouble in latchkeyd's journal of the last \(journalDays) days")] : []
    }
    return troubles.map { finding($0, machine) }
  }

  private static func finding(_ trouble: Trouble, _ machine: MachineObservations) -> Finding {
    let last = trouble.last
    let isHealed = trouble.isHealed || isHealedByMachine(trouble, machine)
    var found = "\(time(last.unixSeconds)): \(words(trouble))"
    if trouble.count > 1 { found += " (\(trouble.count) times in \(journalDays) days)" }
    let isExplained = !isHealed && followsFromKeys(trouble, machine)
    if isHealed { found += "; it has healed since" }
    if isExplained { found += "; it has no keys that it can use" }
    let advice = last.fields[JournalField.advice.rawValue]
    return Finding(
      trouble.kind.fault, weight: isHealed || isExplained ? .warning : trouble.kind.fault.weight, found,
      because: trouble.kind.because,
      mend: isHealed ? see(last) : [advice, mend(trouble)].compactMap(\.self).joined(separator: " "))
  }

  private static func words(_ trouble: Trouble) -> String {
    let fields = trouble.last.fields
    let app = fields[JournalField.app.rawValue] ?? "an app"
    let peripheral = fields[JournalField.peripheral.rawValue] ?? "a device"
    switch trouble.kind {
    case .linkStuck: return "the link to \(peripheral) could not be ended"
    case .linkBarren, .linksBrief: return "links to \(peripheral) break off as soon as they are up"
    case .servicesGone: return "services that \(peripheral) had are gone"
    case .adapterMissing:
      return "latchkeyd's adapter (\(fields[JournalField.wanted.rawValue] ?? "?")) was not there"
    case .bondHalfMade: return "the pairing with \(peripheral) was only half made; it was removed, to be made anew"
    case .bondLost: return "\(peripheral) has lost its pairing; it was removed, so that it may be made anew"
    case .storeFailed:
      return "latchkeyd could not store: \(fields[JournalField.reason.rawValue] ?? trouble.last.message)"
    case .appLaunchFailed:
      return "\(app) could not be started: \(fields[JournalField.error.rawValue] ?? trouble.last.message)"
    case .deadlineOverdue: return "latchkeyd missed a moment at which it had something to do"
    case .pairingGone: return "\(peripheral) has removed its pairing, so the request for it has ended"
    }
  }

  /// Whether the machine's present state shows that the trouble is over.
  private static func isHealedByMachine(_ trouble: Trouble, _ machine: MachineObservations) -> Bool {
    switch trouble.kind {
    case .linkStuck:
      // A bluetoothd that was started later does not have that link.
      machine.systemd.units?[Units.bluetooth]?.activeSince.map { $0 > trouble.last.unixSeconds } ?? false
    case .adapterMissing: used(machine) != nil
    default: false
    }
  }

  /// An app without keys ends at once. Its keys have a finding of their own.
  private static func followsFromKeys(_ trouble: Trouble, _ machine: MachineObservations) -> Bool {
    guard trouble.kind == .appLaunchFailed else { return false }
    let app = trouble.last.fields[JournalField.app.rawValue]
    return machine.keys.contains { $0.key.app == app && ($0.value.content?.isIncomplete ?? false) }
  }

  private static func mend(_ trouble: Trouble) -> String? {
    let app = trouble.last.fields[JournalField.app.rawValue] ?? ""
    return switch trouble.kind {
    case .linkStuck: "systemctl restart bluetooth.service"
    case .linkBarren, .servicesGone, .pairingGone:
      "(bluetoothctl devices shows the address, then: bluetoothctl remove ADDRESS)"
    // The device must forget the pairing. The journal's line says so.
    case .linksBrief: nil
    case .adapterMissing: "plug it in, or name another in /etc/default/latchkeyd (LATCHKEYD_OPTIONS=--adapter hci1)"
    case .bondHalfMade, .bondLost: see(trouble.last)
    case .storeFailed: "df -h; dmesg | tail"
    case .appLaunchFailed: "\(see(trouble.last)); then: latchkey open \(app)"
    case .deadlineOverdue: "report it, with: \(see(trouble.last))"
    }
  }

  private static func see(_ event: JournaledEvent) -> String {
    "journalctl --unit latchkeyd.service LATCHKEY_EVENT=\(event.event) --output verbose"
  }

  private static func time(_ unixSeconds: Double) -> String {
    Date(timeIntervalSince1970: unixSeconds).formatted(.iso8601)
  }
}
