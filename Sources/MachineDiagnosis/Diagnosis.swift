/// What the doctor says about a machine.
package struct Diagnosis: Sendable, Equatable {
  package let findings: [Finding]

  package init(_ machine: MachineObservations) {
    findings =
      MachineCheck.systemd(machine) + MachineCheck.bus(machine) + MachineCheck.bluetoothd(machine)
      + MachineCheck.settings(machine) + MachineCheck.adapter(machine) + MachineCheck.controller(machine)
      + MachineCheck.latchkeyd(machine) + MachineCheck.apps(machine) + MachineCheck.rights(machine)
      + MachineCheck.units(machine) + MachineCheck.clock(machine) + MachineCheck.keys(machine)
      + MachineCheck.store(machine) + MachineCheck.clients(machine) + MachineCheck.journal(machine)
  }

  /// Whether nothing was found that breaks the promise.
  package var keepsPromise: Bool { count(.broken) == 0 }

  package func count(_ weight: Finding.Weight) -> Int { findings.count { $0.weight == weight } }
}

/// The checks. Each judges what was observed, and looks at nothing itself. A check that can't be made because of
/// another fault is silent: that fault has a finding of its own.
enum MachineCheck {}

/// The diagnosis for programs.
package struct DiagnosisReport: Sendable, Codable, Equatable {
  /// The version of the command.
  package var version: String
  package var keepsPromise: Bool
  package var findings: [Finding]

  package init(_ diagnosis: Diagnosis, version: String) {
    self.version = version
    keepsPromise = diagnosis.keepsPromise
    findings = diagnosis.findings
  }
}
