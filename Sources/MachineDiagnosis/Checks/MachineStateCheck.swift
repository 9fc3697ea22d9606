import MachineSetup

extension MachineCheck {
  static func clock(_ machine: MachineObservations) -> [Finding] {
    let clock = machine.clock
    var findings: [Finding] = []
    if !clock.hasBootTime {
      findings.append(
        Finding(
          .clockStopsAsleep, "the kernel has no clock that goes on while the machine sleeps (CLOCK_BOOTTIME)",
          because: "latchkeyd and the lock measure all their times with it", mend: "boot a kernel of 2.6.39 or later"))
    }
    if !plausibleSeconds.contains(machine.unixSeconds) {
      findings.append(
        Finding(
          .clockImplausible, "the machine's clock says the year \(year(machine.unixSeconds))",
          because: "the times of guests' keys and of the log are wrong; requests are held all the same",
          mend: "timedatectl set-ntp true, or: timedatectl set-time '2026-01-31 12:00'"))
    } else if clock.isSynchronised == .known(false) {
      findings.append(
        Finding(
          .clockUnsynchronised, "the machine's clock is not synchronised",
          because: "it may drift from the phones' clocks, so guests' keys begin and end at the wrong time",
          mend: "apt install systemd-timesyncd && timedatectl set-ntp true"))
    }
    if clock.canSleep, let bus = machine.bus.content, bus.isSystemBus, machine.systemd.units != nil,
      !bus.names.contains(logind), !bus.activatable.contains(logind)
    {
      findings.append(
        Finding(
          .sleepUnseen, "this machine can sleep, and logind is not there to tell when it wakes",
          because: "after a sleep bluetoothd may not connect again until latchkeyd asks it to, which it does at a wake",
          mend: "apt install systemd, and reboot; or keep the machine from sleeping"))
    }
    guard findings.isEmpty else { return findings }
    let sync =
      switch clock.isSynchronised {
      case .known(true): "synchronised"
      case .known(false): ""
      case .hidden: "plausible; whether it is synchronised can't be told here"
      }
    let slept = clock.asleepSeconds >= 60 ? "; the machine slept \(Int(clock.asleepSeconds / 60)) min since boot" : ""
    return [.fine(.clock, "the clock is \(sync)\(slept)")]
  }

  private static let logind = "org.freedesktop.login1"
  /// The years 2025 to 2099.
  private static let plausibleSeconds = 1_735_689_600.0..<4_102_444_800.0

  private static func year(_ unixSeconds: Double) -> Int { 1970 + Int(unixSeconds / 31_556_952) }

  static func keys(_ machine: MachineObservations) -> [Finding] {
    // Both apps may be installed on a machine on which only one of them was ever set up.
    let isSetUp = machine.keys.values.contains { $0.content.map { $0.state != .missing } ?? false }
    return machine.keys.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap { (role, keys) -> [Finding] in
      switch keys {
      case .known(let keys) where isSetUp && keys.state == .missing:
        return [.fine(.keys, "the \(role.rawValue)'s app is installed, and was not set up")]
      case .known(let keys): return judge(role, keys)
      case .hidden(let reason):
        return [
          Finding(
            .keysHidden, "the \(role.rawValue)'s keys can't be read: \(reason)",
            because: "it is not known whether they are there and safe", mend: "sudo latchkey doctor")
        ]
      }
    }
  }

  private static func judge(_ role: SetupRole, _ keys: ObservedKeys) -> [Finding] {
    func open(_ reason: String) -> Finding {
      Finding(
        .keysOpen, reason, because: "whoever can read or replace the keys can open the door, or keep it shut",
        mend: "chown -R root:root \(keys.folder) && chmod 0700 \(keys.folder) && chmod 0600 \(keys.folder)/*")
    }
    if let mode = keys.folderMode, mode & 0o077 != 0 {
      return [open("the folder \(keys.folder) has mode 0\(String(mode, radix: 8)): others can reach it")]
    }
    // A latchkeyd without units has its apps' keys elsewhere, and runs as their owner.
    if let owner = keys.folderOwner, owner != 0, keys.folder == role.keyFolder {
      return [open("the folder \(keys.folder) belongs to user \(owner), not to root")]
    }
    switch keys.state {
    case .lock(let phones) where phones > 0:
      return [.fine(.keys, "the lock has its keys, and opens for \(phones == 1 ? "1 phone" : "\(phones) phones")")]
    case .phone: return [.fine(.keys, "the phone has its keys, for its lock")]
    case .lock:
      return [
        Finding(
          .noPhone, "the lock knows no phone", because: "it opens for nobody",
          mend: "press the lock's button, and on the phone: latchkey enroll")
      ]
    case .pendingPhone:
      return [
        Finding(
          .noLock, "the phone knows no lock yet", because: "it has no door to open",
          mend: "press the lock's button, and here: latchkey enroll")
      ]
    case .missing:
      return [
        Finding(
          .keysMissing, "the \(role.rawValue) has no keys (\(keys.folder))",
          because: role == .lock ? "without them it does not run" : "without them it opens no door",
          mend: "latchkey setup \(role.rawValue)")
      ]
    case .open(let reason): return [open(reason)]
    case .unusable(let reason):
      return [
        Finding(
          .keysUnusable, reason, because: "the \(role.rawValue) does not run with keys that it can't read",
          mend:
            "put the file back from a copy, or: latchkey setup undo --forget-keys && latchkey setup \(role.rawValue)")
      ]
    }
  }

  static func store(_ machine: MachineObservations) -> [Finding] {
    if case .status(let status) = machine.latchkeyd.answer, let trouble = status.storeTrouble {
      return [
        Finding(
          .storeTrouble, "latchkeyd can't store what it promises: \(trouble)",
          because: "what it can't store, it does not promise: new requests wait until it can",
          mend: "df -h; dmesg | tail")
      ]
    }
    let isRunning = machine.latchkeyd.process != nil || machine.latchkeyd.answer != .notThere
    let store: ObservedStore
    switch machine.store {
    case .known(let known): store = known
    case .hidden(let reason):
      guard isRunning else { return [] }
      return [
        Finding(
          .storeHidden, "latchkeyd's folder of state can't be looked at: \(reason)",
          because: "it is not known whether it survives a power cut", mend: "sudo latchkey doctor")
      ]
    }
    guard store.exists else {
      // latchkeyd makes the folder at its first start.
      guard isRunning else { return [] }
      return [
        Finding(
          .storeMissing, "latchkeyd's folder of state is gone (\(store.path))",
          because: "what is promised now is lost with the next restart", mend: "systemctl restart latchkeyd.service")
      ]
    }
    var findings = judge(store, machine)
    if findings.isEmpty { findings = [.fine(.store, "\(store.path): private, \(size(store.freeBytes)) free")] }
    return findings
  }

  private static func judge(_ store: ObservedStore, _ machine: MachineObservations) -> [Finding] {
    let restart = "systemctl restart latchkeyd.service"
    var findings: [Finding] = []
    if store.mode & 0o077 != 0 {
      findings.append(
        Finding(
          .storeOpen, "others can reach latchkeyd's state (\(store.path), mode 0\(String(store.mode, radix: 8)))",
          because: "whoever changes it decides which apps are started, and for whom", mend: "chmod 0700 \(store.path)"))
    }
    if let process = machine.latchkeyd.process, process.user != store.owner {
      findings.append(
        Finding(
          .storeOtherOwner,
          "latchkeyd runs as user \(process.user), and its state belongs to user \(store.owner) (\(store.path))",
          because: "it can't write there, so it can't promise anything",
          mend: "chown -R \(process.user) \(store.path) && \(restart)"))
    }
    if let kind = store.volatileKind {
      findings.append(
        Finding(
          .storeVolatile, "latchkeyd's state is in memory (\(store.path), \(kind))",
          because: "a reboot or a power cut takes everything with it that was promised",
          mend: "keep \(store.path) on a disk, then: \(restart)"))
    }
    if store.isReadOnly {
      findings.append(
        Finding(
          .storeReadOnly, "latchkeyd's state is on a disk that can't be written to (\(store.path))",
          because: "it can't promise anything new; a disk that fails is often made read-only",
          mend: "dmesg | tail, then: mount -o remount,rw the disk"))
    } else if store.freeBytes < fullBytes {
      findings.append(
        Finding(
          .storeFull, "the disk of latchkeyd's state is full (\(store.path), \(size(store.freeBytes)) free)",
          because: "it can't promise anything new", mend: "apt clean; journalctl --vacuum-size=100M; df -h"))
    } else if store.freeBytes < tightBytes {
      findings.append(
        Finding(
          .storeTight, "the disk of latchkeyd's state is nearly full (\(store.path), \(size(store.freeBytes)) free)",
          because: "once it is full, nothing new can be promised", mend: "apt clean; journalctl --vacuum-size=100M"))
    }
    return findings
  }

  private static let fullBytes = 1 << 20
  private static let tightBytes = 64 << 20

  private static func size(_ bytes: Int) -> String {
    switch bytes {
    case ..<(1 << 20): "\(bytes >> 10) KiB"
    case ..<(10 << 30): "\(bytes >> 20) MiB"
    default: "\(bytes >> 30) GiB"
    }
  }
}
