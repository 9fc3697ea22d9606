import LockCryptography

/// Why a machine can't be set up, and what to do about it.
package enum SetupProblem: Error, Sendable, Equatable, CustomStringConvertible {
  case notRoot(SetupRole)
  case notRootForUndo
  case noSystemd
  case notInstalled(package: String)
  /// The phone has keys for another lock.
  case otherLock(LockIntroduction)
  case noAdapter
  case noBluetoothd
  case adapterBlocked(name: String)
  case adapterStaysOff(name: String, reason: String)
  /// A program that the setup ran has failed.
  case failed(command: String, reason: String)
  /// This many jobs of systemd have failed. The reason is the last one's.
  case unitDoesNotStart(unit: String, attempts: Int, reason: String)
  case noSystem(reason: String)
  /// bluetoothd's settings.
  case settingsStay(path: String, reason: String)
  /// A file that was to be removed.
  case fileStays(path: String, reason: String)

  package var description: String {
    switch self {
    case .notRoot(let role): "only root can set a machine up: sudo latchkey setup \(role.rawValue)"
    case .notRootForUndo: "only root can take a setup back: sudo latchkey setup undo"
    case .noSystemd: "this machine was not booted by systemd, which runs Latchkey's units"
    case .notInstalled(let package):
      "the package \(package) is not installed: apt install ./\(package)_*.deb, with the folder of Latchkey's packages"
    case .otherLock(let lock):
      """
      this phone is set up already, for another lock (\(Hex.text(lock.identity.bytes))): nothing was changed. To have it \
      forget that one, remove \(SetupRole.phone.keyFolder)/\(PhoneKeys.fileName) and /var/lib/latchkey-agent/agent.json
      """
    case .noAdapter:
      "this machine has no Bluetooth adapter that Linux knows: plug one in, or see `dmesg | grep -i bluetooth`"
    case .noBluetoothd:
      "bluetoothd does not run: see `systemctl status bluetooth.service` (it is in the package bluez)"
    case .adapterBlocked(let name):
      "the Bluetooth adapter \(name) is blocked: `rfkill unblock bluetooth`, or the machine's own switch, and try again"
    case .adapterStaysOff(let name, let reason): "the Bluetooth adapter \(name) can't be turned on: \(reason)"
    case .failed(let command, let reason): "`\(command)` failed: \(reason)"
    case .unitDoesNotStart(let unit, let attempts, let reason):
      """
      \(unit) does not start: systemd has tried \(attempts) times, and said at last: \(reason)
      See why with `journalctl --unit \(unit)`; what was set up stays, so mend that and run the same command again
      """
    case .settingsStay(let path, let reason):
      "\(path) can't be changed (\(reason)); mend that, or run the setup with --no-radio-settings"
    case .fileStays(let path, let reason): "\(path) can't be removed (\(reason)); remove it, or try again"
    case .noSystem(let reason): "latchkeyd does not answer (\(reason)): see `journalctl --unit latchkeyd`"
    }
  }
}
