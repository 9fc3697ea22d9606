/// What is known to go wrong with a version of bluetoothd or of the kernel (docs/bluez.md).
struct KnownFault: Sendable {
  /// The first and the last version with the fault; `nil` if no last one is known.
  var first: BlueZVersion
  var last: BlueZVersion?
  var what: String
  /// Why the fault matters, or `nil` if latchkeyd works around it.
  var because: String?
  var mend: String?

  func concerns(_ version: BlueZVersion) -> Bool { version >= first && last.map { version <= $0 } ?? true }

  /// The first version that latchkeyd was tried with.
  static let firstTried = BlueZVersion(5, 66)

  static let bluetoothd: [KnownFault] = [
    KnownFault(
      first: BlueZVersion(5, 69), last: BlueZVersion(5, 77),
      what: "a device that is paired is not connected by itself afterwards (bluez#1293)"),
    KnownFault(
      first: BlueZVersion(5, 82), last: BlueZVersion(5, 82),
      what: "a request that is open when a link is lost can crash bluetoothd"),
    KnownFault(
      first: BlueZVersion(5, 66), last: BlueZVersion(5, 85),
      what: "a device that has lost its pairing is connected again and again, every 3 s"),
    KnownFault(
      first: BlueZVersion(5, 73), last: BlueZVersion(5, 73),
      what: "bluetoothd uses all of a processor while rfkill blocks its adapter (bluez#785)"),
    KnownFault(
      first: BlueZVersion(5, 72), last: BlueZVersion(5, 72),
      what: "a link can stay that does not exist, and its end is never answered (bluez#947)",
      because: "a phone whose request waits behind such a link is not connected until bluetoothd is restarted; "
        + "latchkeyd tells of it in its journal (link.stuck)",
      mend: "apt update && apt install --only-upgrade bluez"),
    KnownFault(
      first: BlueZVersion(5, 87), last: BlueZVersion(5, 87),
      what: "bluetoothd can crash if a device leaves while it is being subscribed to (bluez#2538)"),
  ]

  /// Versions are those of the kernel.
  static let kernel: [KnownFault] = [
    KnownFault(
      first: BlueZVersion(6, 1), last: BlueZVersion(6, 1),
      what: "a link that is lost within a second of its beginning can make the kernel kill bluetoothd",
      because: "the kernel may stop serving Bluetooth then; this was seen with Debian 12's kernel, and not with 6.12",
      mend: "upgrade this machine to Debian 13, or install a later kernel")
  ]
}
