/// What a part of the examination looks at. The order is the order in which findings are shown.
package enum Check: String, Sendable, Codable, CaseIterable {
  case systemd, bus, bluetoothd, settings, adapter, controller, latchkeyd, apps, rights, units, clock, keys, store
  case clients, journal
}

/// One thing that the doctor found out about a machine.
package struct Finding: Sendable, Equatable, Codable {
  /// How much it matters for the promise: a held connection request comes true after days, the app is started again,
  /// and the door opens.
  package enum Weight: String, Sendable, Codable, CaseIterable {
    /// Everything is as it should be.
    case fine
    /// It is not known, usually because this user may not look.
    case hidden
    /// The promise is kept, but later than it could be, with less safety, or only while something does not happen.
    case warning
    /// The promise could not be kept.
    case broken
  }

  package let check: Check
  /// What is wrong; `nil` if nothing is.
  package let name: Fault?
  package let weight: Weight
  /// What was found.
  package let found: String
  /// Why it matters.
  package let because: String?
  /// The command that mends it, or what a person has to do.
  package let mend: String?

  /// - Parameter weight: the fault's own weight, if not given.
  init(_ fault: Fault, weight: Weight? = nil, _ found: String, because: String, mend: String?) {
    check = fault.check
    name = fault
    self.weight = weight ?? fault.weight
    self.found = found
    self.because = because
    self.mend = mend
  }

  private init(fine check: Check, _ found: String) {
    self.check = check
    name = nil
    weight = .fine
    self.found = found
    because = nil
    mend = nil
  }

  /// Something that is as it should be.
  static func fine(_ check: Check, _ found: String) -> Finding { Finding(fine: check, found) }
}

/// Everything that can be wrong. The raw value is its name for programs, and begins with its check.
package enum Fault: String, Sendable, Codable, CaseIterable {
  case busMissing = "bus.missing"

  case systemdMissing = "systemd.missing"
  case systemdHidden = "systemd.hidden"

  case bluetoothdMissing = "bluetoothd.missing"
  case bluetoothdStopped = "bluetoothd.notRunning"
  case bluetoothdSilent = "bluetoothd.silent"
  case bluetoothdReplaced = "bluetoothd.replaced"
  case bluetoothdUntried = "bluetoothd.untried"
  case bluetoothdKnownFault = "bluetoothd.knownFault"
  case bluetoothdVersionHidden = "bluetoothd.versionHidden"
  case kernelKnownFault = "bluetoothd.kernelFault"

  case settingsHidden = "settings.hidden"
  case settingsMalformed = "settings.malformed"
  case noLowEnergy = "settings.noLowEnergy"
  case noClient = "settings.noClient"
  case adapterStaysOff = "settings.adapterStaysOff"
  case noCache = "settings.noCache"
  case strictPrivacy = "settings.strictPrivacy"
  case openRepairing = "settings.openRepairing"
  case noTemporaryDevices = "settings.noTemporaryDevices"
  case rareAdvertising = "settings.rareAdvertising"

  case adapterMissing = "adapter.none"
  case adapterUnserved = "adapter.unserved"
  case adapterSoftBlocked = "adapter.softBlocked"
  case adapterHardBlocked = "adapter.hardBlocked"
  case adapterOff = "adapter.off"
  case adapterWithoutAddress = "adapter.withoutAddress"
  case adapterUnchosen = "adapter.unchosen"
  case adapterOtherWanted = "adapter.otherWanted"

  case noCentral = "controller.noCentral"
  case noPeripheral = "controller.noPeripheral"
  case oneRoleAtATime = "controller.oneRoleAtATime"
  case noAdvertising = "controller.noAdvertising"

  case latchkeydMissing = "latchkeyd.missing"
  case latchkeydStopped = "latchkeyd.stopped"
  case latchkeydSilent = "latchkeyd.silent"
  case latchkeydRefused = "latchkeyd.refused"
  case latchkeydOtherVersion = "latchkeyd.otherVersion"
  case latchkeydReplaced = "latchkeyd.replaced"
  case latchkeydVersionHidden = "latchkeyd.versionHidden"
  case latchkeydSwitchedOff = "latchkeyd.switchedOff"
  case latchkeydBlind = "latchkeyd.blind"

  case noApp = "apps.none"
  case appMissing = "apps.missing"
  case appStopped = "apps.stopped"
  case appQuit = "apps.quit"
  case appWaitsForNothing = "apps.waitsForNothing"
  case appAsks = "apps.asks"

  case rightsHidden = "rights.hidden"
  case noPolicy = "rights.noPolicy"
  case noPolkitRules = "rights.noPolkitRules"
  case noPolkit = "rights.noPolkit"
  case foreignOwner = "rights.foreignOwner"

  case unitMissing = "units.missing"
  case unitMasked = "units.masked"
  case unitDisabled = "units.disabled"
  case unitFailed = "units.failed"
  case unitRestarting = "units.restarting"
  case unitNotRestarted = "units.notRestarted"
  case unitWatched = "units.watched"
  case unitLoosened = "units.loosened"
  case unitStale = "units.stale"

  case clockUnsynchronised = "clock.unsynchronised"
  case clockImplausible = "clock.implausible"
  case clockStopsAsleep = "clock.stopsAsleep"
  case sleepUnseen = "clock.sleepUnseen"

  case keysHidden = "keys.hidden"
  case keysMissing = "keys.missing"
  case keysOpen = "keys.open"
  case keysUnusable = "keys.unusable"
  case noPhone = "keys.noPhone"
  case noLock = "keys.noLock"

  case storeHidden = "store.hidden"
  case storeMissing = "store.missing"
  case storeOpen = "store.open"
  case storeOtherOwner = "store.otherOwner"
  case storeVolatile = "store.volatile"
  case storeReadOnly = "store.readOnly"
  case storeFull = "store.full"
  case storeTight = "store.tight"
  case storeTrouble = "store.trouble"

  case clientsHidden = "clients.hidden"
  case discovering = "clients.discovering"
  case otherAdvertising = "clients.otherAdvertising"
  case otherClients = "clients.others"

  case journalHidden = "journal.hidden"
  case linkStuck = "journal.linkStuck"
  case linkBarren = "journal.linkBarren"
  case linksBrief = "journal.linksBrief"
  case servicesGone = "journal.servicesGone"
  case adapterWasMissing = "journal.adapterMissing"
  case bondHalfMade = "journal.bondHalfMade"
  case bondLost = "journal.bondLost"
  case storeFailed = "journal.storeFailed"
  case appLaunchFailed = "journal.appLaunchFailed"
  case deadlineOverdue = "journal.deadlineOverdue"
  case pairingGone = "journal.pairingGone"

  var check: Check {
    // Each name begins with its check's; the tests compare them all.
    Check(rawValue: String(rawValue.prefix { $0 != "." })) ?? .journal
  }

  /// The usual weight of the fault. A finding may have another one.
  var weight: Finding.Weight {
    switch self {
    case .systemdHidden, .bluetoothdVersionHidden, .settingsHidden, .latchkeydRefused, .latchkeydVersionHidden,
      .rightsHidden, .keysHidden, .storeHidden, .clientsHidden, .journalHidden:
      .hidden
    case .bluetoothdReplaced, .bluetoothdUntried, .bluetoothdKnownFault, .kernelKnownFault, .settingsMalformed,
      .adapterStaysOff, .noCache, .strictPrivacy, .openRepairing, .noTemporaryDevices, .rareAdvertising,
      .adapterUnchosen, .oneRoleAtATime, .latchkeydOtherVersion, .latchkeydReplaced, .noApp, .appWaitsForNothing,
      .appAsks, .unitRestarting, .unitWatched, .unitLoosened, .unitStale, .clockUnsynchronised, .clockImplausible,
      .sleepUnseen, .storeTight, .discovering, .otherAdvertising, .otherClients, .bondHalfMade, .bondLost,
      .deadlineOverdue:
      .warning
    case .busMissing, .systemdMissing, .bluetoothdMissing, .bluetoothdStopped, .bluetoothdSilent, .noLowEnergy,
      .noClient, .adapterMissing, .adapterUnserved, .adapterSoftBlocked, .adapterHardBlocked, .adapterOff,
      .adapterWithoutAddress, .adapterOtherWanted, .noCentral, .noPeripheral, .noAdvertising, .latchkeydMissing,
      .latchkeydStopped,
      .latchkeydSilent, .latchkeydSwitchedOff, .latchkeydBlind, .appMissing, .appStopped, .appQuit, .noPolicy,
      .noPolkitRules, .noPolkit, .foreignOwner, .unitMissing, .unitMasked, .unitDisabled, .unitFailed,
      .unitNotRestarted, .clockStopsAsleep, .keysMissing, .keysOpen, .keysUnusable, .noPhone, .noLock, .storeMissing,
      .storeOpen, .storeOtherOwner, .storeVolatile, .storeReadOnly, .storeFull, .storeTrouble, .linkStuck,
      .linkBarren, .linksBrief, .servicesGone, .adapterWasMissing, .storeFailed, .appLaunchFailed, .pairingGone:
      .broken
    }
  }
}
