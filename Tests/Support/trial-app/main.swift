// An app for stories about the rules of the background. What it does is in its arguments: a word begins a manager, and what
// follows, up to the next such word, is about that manager:
//
//   central:ID     a CBCentralManager, restored by ID; `central` alone has no restore identifier
//     scan=UUID        scans for that service; `scan=any` for all; `duplicates=yes`
//     connect=UUID     finds a peripheral with that service and connects to it, again after each disconnection
//     cancels=yes      ends the connection when it knows the services, and goes on scanning
//     alert=connection|disconnection|notification     has the user alerted of that while the app is suspended
//     notify=UUID      subscribes to that characteristic
//     read=UUID        reads it when connected
//     write=UUID       writes to it when connected, `count` times; `response=no` without response
//     every=SECONDS    does that reading or writing again and again
//   peripheral:ID  a CBPeripheralManager
//     service=UUID     publishes that service, with
//     characteristic=UUID:PROPERTY+PROPERTY    read, write, writeWithoutResponse, notify, indicate
//     name=TEXT        is in its advertisement
//     push=COUNT       sends that many values to each new subscriber, numbered from 1; `every=SECONDS` apart
//     retract=SECONDS  takes its service away that long after the first subscription
//     mute=yes         answers no request
//     prints=COUNT     records so many lines before the first manager is made
//     closes=yes       closes its standard error before that, and opens a file of its own, which gets that number
//     remembers=yes    counts connections in its UserDefaults, and says at each start how many there were
//     forgets=yes      makes another manager than the one that is to be restored
//     pretends=order|twice     claims to have been called out of order, or twice
//     queue=own        has its delegate called on a queue of its own; not with `every`, `retract`
//   misuse=WHAT    is done as soon as the first manager is on
//
// It records what it is told: `latchkey: EVENT key=value`.
import CoreBluetooth
import Foundation

func record(_ event: String, _ fields: KeyValuePairs<String, Any> = [:]) {
  print("latchkey: \(event)" + fields.map { " \($0.key)=\"\($0.value)\"" }.joined())
}

let words = Array(CommandLine.arguments.dropFirst())
guard let setup = TrialSetup(words) else {
  FileHandle.standardError.write(Data("trial-app: can't make sense of \(words.joined(separator: " "))\n".utf8))
  exit(64)
}
if let count = setup.managers[0]["prints"].flatMap({ Int($0) }) {
  // Before the module has anything to do with the output.
  for number in 0..<count { record("printed", ["number": number]) }
} else {
  let options = ApplicationLaunch.options() ?? [:]
  record(
    "started",
    [
      "centrals": (options[.bluetoothCentrals] as? [String] ?? []).joined(separator: ","),
      "peripherals": (options[.bluetoothPeripherals] as? [String] ?? []).joined(separator: ","),
      "at": Int(CFAbsoluteTimeGetCurrent()),
    ])
}
if setup.managers[0]["remembers"] != nil {
  record(
    "remembered",
    [
      "connections": UserDefaults.standard.integer(forKey: "connections"),
      "isOwn": NSHomeDirectory() == ProcessInfo.processInfo.environment["STATE_DIRECTORY"],
    ])
}
if setup.managers[0]["closes"] != nil {
  close(STDERR_FILENO)
  let path = (ProcessInfo.processInfo.environment["STATE_DIRECTORY"] ?? ".") + "/data"
  let file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
  record("opened", ["number": file, "bytes": lseek(file, 0, SEEK_END)])
}
let centrals = setup.managers.filter { $0.role == .central }.map { TrialCentral($0) }
let peripherals = setup.managers.filter { $0.role == .peripheral }.map { TrialPeripheral($0) }
withExtendedLifetime((centrals, peripherals)) { dispatchMain() }
