import ConsoleOutput
import Foundation
import Testing

@testable import MachineDiagnosis

@Suite("What the doctor shows") struct DiagnosisScreenTests {
  private var ill: MachineObservations {
    var machine = HealthyMachine.phone
    machine.systemd = .absent
    machine.clock.isSynchronised = .known(false)
    machine.keys[.phone] = .hidden(reason: "Permission denied")
    machine.record("pairing.gone", ["peripheral": "0B2D5B0C-1D5C-4A0E-8A4E-5A5A5A5A5A5A", "advice": "Pair it again."])
    return machine
  }

  @Test("Every line fits the terminal, at any width", arguments: [20, 40, 80, 200], [true, false])
  func widths(_ width: Int, _ usesUnicode: Bool) {
    let terminal = Terminal(width: width, usesUnicode: usesUnicode)
    for line in DiagnosisScreen(Diagnosis(ill), terminal).lines { #expect(line.count <= width, "\(line)") }
  }

  @Test("What is well comes first, then what can't be told, the warnings, the outcome, and the faults last")
  func order() throws {
    let lines = DiagnosisScreen(Diagnosis(ill), .plain).lines
    func place(_ text: String) throws -> Int { try #require(lines.firstIndex { $0.contains(text) }, "\(text)") }
    let places = [
      try place("adapter: hci0"), try place("can't tell  keys:"), try place("warning     clock:"),
      try place("2 faults, 1 warning, 1 thing that can't be told. Begin with the last one below."),
      try place("BROKEN      journal:"), try place("BROKEN      systemd:"),
    ]
    #expect(places == places.sorted())
    #expect(lines.last?.hasPrefix("      do:  ") == true)
    #expect(lines.contains { $0.hasPrefix("      why: ") })
  }

  @Test("A healthy machine: one line a check, and the outcome is the last one")
  func healthy() {
    let lines = DiagnosisScreen(Diagnosis(HealthyMachine.lock), Terminal(width: 200, usesUnicode: true)).lines
    #expect(lines.count == Check.allCases.count + 2)
    #expect(lines.dropLast(2).allSatisfy { $0.hasPrefix("  ✓ ok") })
    #expect(lines.last == "  Nothing stands in the way: a request that is held here comes true, even after days.")
    var machine = HealthyMachine.lock
    machine.clock.isSynchronised = .known(false)
    #expect(DiagnosisScreen(Diagnosis(machine), .plain).lines.last?.hasSuffix("even after days (1 warning).") == true)
    machine.keys[.lock] = .hidden(reason: "Permission denied")
    #expect(DiagnosisScreen(Diagnosis(machine), .plain).lines.last?.contains("that can be seen here") == true)
  }

  @Test("Colours only where the terminal has them, and no control character from outside reaches it")
  func escapes() {
    var machine = HealthyMachine.lock
    machine.changeStatus { $0.storeTrouble = "bad\u{1B}[31m\u{7}\nnews\u{202E}" + String(repeating: "x", count: 5000) }
    let plain = DiagnosisScreen(Diagnosis(machine), .plain).lines.joined(separator: "\n")
    #expect(!plain.unicodeScalars.contains { $0.value == 0x1B || $0.value == 7 || $0.value == 0x202E })
    #expect(plain.contains("bad?[31m? news?xxx"))
    #expect(plain.utf8.count < 10_000)
    let colored = DiagnosisScreen(Diagnosis(machine), Terminal(width: 80, usesColor: true)).lines
    #expect(colored.contains { $0.contains("\u{1B}[31mBROKEN") })
  }

  @Test("The report for programs has every finding, and reads back as the same")
  func json() throws {
    let report = DiagnosisReport(Diagnosis(ill), version: "0.1.0")
    let data = try JSONEncoder().encode(report)
    #expect(try JSONDecoder().decode(DiagnosisReport.self, from: data) == report)
    #expect(!report.keepsPromise)
    #expect(String(decoding: data, as: UTF8.self).contains(#""name":"systemd.missing""#))
  }
}
