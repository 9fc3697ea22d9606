import BlueZ
import BusValue
import Foundation
import LockFirmware
import LockProtocol
import MachineSetup
import SystemBus
import Testing

@testable import MachineDiagnosis

@Suite("What the doctor reads") struct ReadingTests {
  @Test("bluetoothd's settings: sections, comments, spaces; what can't be understood is counted, not guessed")
  func settings() {
    let settings = BluetoothSettings(
      """
      stray = 1
      # [Policy]
      [General]
        Privacy =  device \r
      #Privacy = off
      Name=a=b
      = nothing
      [Policy]
      AutoEnable=maybe

      """)
    #expect(settings[section: "General", key: "Privacy"] == "device")
    #expect(settings[section: "General", key: "Name"] == "a=b")
    #expect(settings[section: "General", key: "AutoEnable"] == nil)
    #expect(settings.isOn("Policy", "AutoEnable", byDefault: true))
    #expect(!settings.isOn("Policy", "AutoEnable", byDefault: false))
    #expect(settings.malformedLines == [1, 7])
    #expect(BluetoothSettings("").malformedLines.isEmpty)
    #expect(!BluetoothSettings(String(repeating: "\u{0}[", count: 10_000)).malformedLines.isEmpty)
  }

  @Test(
    "A version is the first number with a dot in what a program says",
    arguments: [
      ("5.66", BlueZVersion(5, 66)), ("bluetoothctl: 5.82\n", BlueZVersion(5, 82)),
      ("6.12.43+deb13-amd64", BlueZVersion(6, 12)), ("6.1.0-41-amd64", BlueZVersion(6, 1)), ("", nil), ("five", nil),
      ("-1.2", nil), ("99999999999999999999.1", nil), ("...", nil),
    ] as [(String, BlueZVersion?)])
  func versions(_ text: String, version: BlueZVersion?) { #expect(BlueZVersion(in: text) == version) }

  @Test("A path is on the file system with the longest place above it, and of two the later one")
  func mounts() {
    let table = MountTable(
      """
      1 0 8:1 / / rw,relatime - ext4 /dev/sda1 rw
      2 1 0:20 / /var/lib rw shared:5 master:1 - tmpfs tmpfs rw
      3 1 0:21 / /var/lib/latch rw - ramfs none rw
      4 1 8:2 / /var/lib/with\\040space rw - xfs /dev/sdb rw
      5 2 8:3 / /var/lib rw - btrfs /dev/sdc rw
      broken line
      """)
    #expect(table.kind(of: "/") == "ext4")
    #expect(table.kind(of: "/var/lib/latchkey") == "btrfs")
    #expect(table.kind(of: "/var/lib/latch") == "ramfs")
    #expect(table.kind(of: "/var/lib/with space/x") == "xfs")
    #expect(MountTable("").kind(of: "/") == nil)
  }

  @Test("A line of the journal: Latchkey's own fields; any other line is none")
  func journal() {
    let line = """
      {"__REALTIME_TIMESTAMP":"1800000000500000","LATCHKEY_EVENT":"link.barren","MESSAGE":"x",\
      "LATCHKEY_FIELDS":"peripheral advice","LATCHKEY_FIELD_PERIPHERAL":"P","LATCHKEY_FIELD_ADVICE":[1,2]}
      """
    let event = JournaledEvent(journalLine: Data(line.utf8))
    #expect(
      event
        == JournaledEvent(
          event: "link.barren", unixSeconds: 1_800_000_000.5, message: "x", fields: ["peripheral": "P"]))
    for other in [
      "", "{}", "[]", "nothing", #"{"LATCHKEY_EVENT":"x"}"#, #"{"LATCHKEY_EVENT":1,"__REALTIME_TIMESTAMP":"1"}"#,
      #"{"LATCHKEY_EVENT":"x","__REALTIME_TIMESTAMP":"-1"}"#, #"{"LATCHKEY_EVENT":"x","__REALTIME_TIMESTAMP":"nan"}"#,
      #"{"LATCHKEY_EVENT":"x","__REALTIME_TIMESTAMP":"9223372036854775807"}"#,
    ] {
      #expect(JournaledEvent(journalLine: Data(other.utf8)) == nil, "\(other)")
    }
  }

  @Test("bluetoothd's adapters, with what they can do, whatever else it shows")
  func adapters() throws {
    func interfaces(_ all: [String: Properties]) -> Value {
      .dictionary(
        key: "s", value: "a{sv}",
        Dictionary(uniqueKeysWithValues: all.map { (Value.string($0.key), Value.properties($0.value)) }))
    }
    let objects = Value.dictionary(
      key: "o", value: "a{sa{sv}}",
      [
        .path(try #require(ObjectPath("/org/bluez/hci1"))): interfaces([
          InterfaceName.adapter: ["Address": .string("A"), "Powered": .bool(true), "Roles": .strings(["central"])],
          InterfaceName.advertisingManager: ["ActiveInstances": .byte(1), "SupportedInstances": .byte(4)],
        ]),
        .path(try #require(ObjectPath("/org/bluez/hci0"))): interfaces([
          InterfaceName.adapter: ["Powered": .string("x")]
        ]),
        .path(try #require(ObjectPath("/org/bluez"))): interfaces(["org.bluez.AgentManager1": [:]]),
      ])
    let adapters = ObservedAdapter.all(in: objects)
    #expect(adapters.map(\.name) == ["hci0", "hci1"])
    #expect(!adapters[0].isPowered && adapters[0].roles == nil && adapters[0].advertisements == nil)
    #expect(adapters[1].isPowered && adapters[1].roles == ["central"] && adapters[1].address == "A")
    #expect(adapters[1].advertisements?.active == 1 && adapters[1].advertisements?.free == 4)
    #expect(ObservedAdapter.all(in: nil).isEmpty)
    #expect(ObservedAdapter.all(in: .string("x")).isEmpty)
  }

  @Test("A unit's properties; a missing one leaves no right and no restart assumed")
  func units() {
    let unit = ObservedUnit(
      unit: [
        "LoadState": .string("loaded"), "ActiveState": .string("active"), "UnitFileState": .string("enabled"),
        "DropInPaths": .strings(["/x"]), "NeedDaemonReload": .bool(true), "ActiveEnterTimestamp": .uint64(5_000_000),
      ],
      service: [
        "Restart": .string("always"), "NRestarts": .uint32(3), "WatchdogUSec": .uint64(.max), "User": .string("u"),
        "NoNewPrivileges": .bool(true), "Result": .string("success"),
      ])
    #expect(unit.restarts == 3 && unit.restart == "always" && unit.watchdogMicroseconds == 0 && unit.activeSince == 5)
    #expect(unit.dropIns == ["/x"] && unit.needsReload && unit.hasNoNewPrivileges)
    let empty = ObservedUnit(unit: [:], service: [:])
    #expect(empty.restart.isEmpty && !empty.hasNoNewPrivileges && empty.activeSince == nil)
  }

  @Test("A command line's options, written in either way")
  func options() {
    let process = ObservedProcess(
      identifier: 1, user: 0, arguments: ["d", "--state=/s", "--adapter", "hci1", "--last"], unit: nil,
      isReplaced: false)
    #expect(process.option("--state") == "/s")
    #expect(process.option("--adapter") == "hci1")
    #expect(process.option("--last") == nil)
    #expect(process.option("--st") == nil)
  }

  @Test("Where nothing can be read, everything is hidden or missing, and the doctor still answers")
  func refusedEverywhere() {
    for isMissing in [true, false] {
      let problem = AccessProblem("Permission denied", isMissing: isMissing)
      let access = MachineAccess(
        isRoot: false, unixSeconds: 1_800_000_000, read: { _, _ throws(AccessProblem) in throw problem },
        names: { _ throws(AccessProblem) in throw problem }, information: { _ throws(AccessProblem) in throw problem },
        fileSystem: { _ throws(AccessProblem) in throw problem }, target: { _ throws(AccessProblem) in throw problem },
        run: { _, _ throws(AccessProblem) in throw problem },
        connect: { _ throws(BusError) in throw BusError.disconnected }, uptime: { (nil, 0) }, kernel: "")
      let machine = MachineObserver(access, programFolder: nil).observe()
      #expect(machine.rights.hasPolicy.content == (isMissing ? false : nil))
      let faults = Diagnosis(machine).findings.compactMap(\.name)
      #expect(faults.contains(.busMissing) && faults.contains(.systemdMissing) && faults.contains(.clockStopsAsleep))
    }
  }

  @Test("L5: a phone without keys from the setup has its own when it was enrolled at a door, or invited to one")
  func doors() {
    func state(_ files: [String]) -> ObservedKeys.State? {
      let access = MachineAccess(
        isRoot: true, unixSeconds: 1_800_000_000,
        read: { _, _ throws(AccessProblem) in throw AccessProblem("it is not there", isMissing: true) },
        names: { path throws(AccessProblem) in path == SetupRole.doorFolder ? files : [] },
        information: { path throws(AccessProblem) in
          guard path == SetupRole.phone.declaration || path == SetupRole.phone.keyFolder else {
            throw AccessProblem("it is not there", isMissing: true)
          }
          return MachineAccess.Information(mode: 0o700, owner: 0)
        },
        fileSystem: { _ throws(AccessProblem) in MachineAccess.FileSystem(isReadOnly: false, freeBytes: 1 << 40) },
        target: { _ throws(AccessProblem) in throw AccessProblem("it is not there", isMissing: true) },
        run: { _, _ throws(AccessProblem) in MachineAccess.Outcome(status: 1, output: "", errors: "") },
        connect: { _ throws(BusError) in throw BusError.disconnected }, uptime: { (100, 100) }, kernel: "6.12")
      return MachineObserver(access, programFolder: nil).observe().keys[.phone]?.content?.state
    }
    #expect(state([]) == .missing)
    #expect(state(["home.json.old"]) == .missing)
    #expect(state(["home.json"]) == .phone)
  }

  @Test("L5: what a lock has stored of owners shows whether a phone was enrolled by its code")
  func enrolledPhones() {
    func shows(_ change: (inout AccessState) -> Void) -> Bool {
      var state = AccessState()
      change(&state)
      return MachineObserver.showsEnrolledPhones(
        Array("latchkey lock access".utf8) + [1] + state.encoded + [0, 0, 0, 0])
    }
    let phone = KeyName(key: [UInt8](repeating: 7, count: 32), name: Array("Alice".utf8))
    let guest = AccessState.Use(grant: [UInt8](repeating: 9, count: 16), count: 1, until: 1_800_000_000)
    #expect(!shows { _ in })
    #expect(shows { $0.phones = [phone] })
    #expect(!shows { $0.uses = [guest] })
    // The state has other versions with the ends of counted grants, and with a change that is not recorded yet.
    #expect(
      shows {
        $0.phones = [phone]
        $0.uses = [guest]
      })
    #expect(
      shows {
        $0.phones = [phone]
        $0.unrecorded = AccessState.Unrecorded(.phoneEnrolled, index: 3)
      })
    for bytes in [[], Array("latchkey lock access".utf8), [2, 0, 0, 0, 0]] {
      #expect(!MachineObserver.showsEnrolledPhones(bytes))
    }
  }

  private struct SilentBus: BusQuestions {
    var isSystemBus: Bool { true }
    func ask(_ call: MethodCall) throws(BusError) -> [Value] {
      if call.member == "ListNames" { return [.strings([":1.1", "org.bluez", "org.latchkey.System1"])] }
      throw BusError(name: BusError.Name.noReply, message: "no answer")
    }
    func credentials(of name: String) throws(BusError) -> BusCredentials {
      BusCredentials(processIdentifier: 7, userIdentifier: 0)
    }
  }

  @Test("Programs that own their names and do not answer are found silent; only programs in known places are run")
  func silent() {
    let access = MachineAccess(
      isRoot: true, unixSeconds: 1_800_000_000,
      read: { path, _ throws(AccessProblem) in
        path == "/proc/7/comm" ? Array("bluetoothctl\n".utf8) : []
      },
      names: { _ throws(AccessProblem) in [] },
      information: { path throws(AccessProblem) in MachineAccess.Information(mode: 0o700, owner: 0) },
      fileSystem: { _ throws(AccessProblem) in MachineAccess.FileSystem(isReadOnly: false, freeBytes: 1 << 40) },
      target: { _ throws(AccessProblem) in "/tmp/evil (deleted)" },
      run: { program, _ throws(AccessProblem) in
        #expect(program.hasPrefix("/usr/"))
        return MachineAccess.Outcome(status: 0, output: "", errors: "")
      },
      connect: { _ throws(BusError) in SilentBus() }, uptime: { (100, 100) }, kernel: "6.12")
    let machine = MachineObserver(access, programFolder: nil).observe()
    #expect(machine.latchkeyd.answer == .silent(reason: "no answer"))
    #expect(machine.bluetoothd.answer == .silent(reason: "no answer"))
    #expect(machine.systemd == .unreachable(reason: "org.freedesktop.DBus.Error.NoReply: no answer"))
    #expect(machine.latchkeyd.process?.isReplaced == true)
    let faults = Diagnosis(machine).findings.compactMap(\.name)
    #expect(faults.contains(.latchkeydSilent) && faults.contains(.bluetoothdSilent) && faults.contains(.systemdHidden))
  }
}
