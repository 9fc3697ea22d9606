import BluetoothTypes
import Radio
import TimeTypes

/// A machine's Bluetooth identity, and how its bluetoothd and kernel are set up.
package struct BlueZConfiguration: Sendable {
  package var controller: ControllerIdentifier
  /// The controller's own address, which is its identity.
  package var address: DeviceAddress
  /// Adapter1.Name, by default the machine's name.
  package var name: String
  package var identityKey: IdentityResolvingKey
  /// `Privacy = device` of main.conf: resolvable private addresses on the air.
  package var isPrivate: Bool
  /// The keys of bonds are drawn from this seed.
  package var seed: UInt64
  /// Which of the machine's adapters this is: 0 for hci0. Objects that bluetoothd has only once belong to adapter 0.
  package var adapterNumber = 0
  /// Whether bluetoothd runs with `--experimental`, or `Experimental = true` in main.conf. Only then does it have
  /// monitors.
  package var isExperimental = false
  /// Whether the controller has classic Bluetooth beside Low Energy, as most have. No classic device is on the simulated radio, but
  /// bluetoothd then counts `Transport` as a filter, and the flags that it advertises differ.
  package var isDualMode = false
  /// The connection interval of the links that this machine makes, 7.5 ms to 4 s. The kernel asks for 30 to 50 ms, and
  /// controllers tend to choose the shortest.
  package var connectionInterval: Duration = .milliseconds(30)
  /// Whether bluetoothd publishes Device Information, as it does by itself. What a test writes as a device of its own has only the
  /// services that the test gives it.
  package var hasDeviceInformation = true
  package var quirks = Quirks()
  package var timings = Timings()

  package init(
    controller: ControllerIdentifier, address: DeviceAddress, name: String? = nil, identityKey: IdentityResolvingKey,
    isPrivate: Bool = false, seed: UInt64
  ) {
    self.controller = controller
    self.address = address
    self.name = name ?? controller.name
    self.identityKey = identityKey
    self.isPrivate = isPrivate
    self.seed = seed
  }

  /// Known bugs of bluetoothd that its clients must live with.
  package struct Quirks: Sendable {
    /// bluetoothd crashes if a read or write is still unanswered when the link drops.
    package var crashesOnUnansweredRequest = true
    package init() {}
  }

  /// How long bluetoothd and the kernel wait, as measured.
  package struct Timings: Sendable {
    /// [General] TemporaryTimeout.
    package var temporaryDevice: Duration = .seconds(30)
    /// A device without a bond is removed this soon after connecting or pairing failed.
    package var failedDevice: Duration = .seconds(1)
    /// `Connect()` to a device that does not answer.
    package var connect: Duration = .seconds(41)
    /// `Pair()`, until there is a link (BONDING_TIMEOUT of bluetoothd; read).
    package var pairing: Duration = .seconds(120)
    /// `Pair()` of a blocked device, from the end of its link.
    package var refusedPairing: Duration = .seconds(20)
    /// From `Disconnect()` to the end of the link.
    package var disconnect: Duration = .seconds(2)
    /// Attribute protocol transaction (Bluetooth Core, Vol 3, Part F, 3.3.3).
    package var transaction: Duration = .seconds(30)
    /// How long a GATT server application has for its answer.
    package var application: Duration = .seconds(5)
    /// How long bluetoothd waits for other answers of clients (libdbus's own limit).
    package var busCall: Duration = .seconds(25)
    /// How long the kernel keeps a link that no process holds (HCI_DISCONN_TIMEOUT).
    package var orphanedLink: Duration = .seconds(2)
    /// How long an agent has for its answer.
    package var agent: Duration = .seconds(60)
    /// From a machine's boot to its bluetoothd. Other programs are on the bus earlier.
    package var boot: Duration = .milliseconds(100)
    /// `RestartSec` of the unit, after a crash, or `nil` if it is not restarted.
    package var restartAfterCrash: Duration? = .seconds(1)
    /// The length of one round of a discovery (the kernel's DISCOV_LE_TIMEOUT). Each round reports the devices that are
    /// still there once more.
    package var discoveryRestart: Duration = .milliseconds(10240)
    /// The pause between two rounds if no client has a filter (bluetoothd's IDLE_DISCOV_TIMEOUT).
    package var discoveryPause: Duration = .seconds(5)
    package init() {}
  }
}

/// State in the kernel, which survives when bluetoothd is killed.
struct Kernel: Sendable {
  var isPlugged = true
  var isBlocked = false
  /// What the controller was last told, so that nothing is sent twice.
  var initiator: InitiatorParameters?
  var scan: ScanParameters?
  var powered = false
  /// Whether bonding is allowed. bluetoothd switches it with its agents.
  var isPairable = false
  var advertisingSets: Set<UInt8> = []
  /// Links that no process holds: left by a killed bluetoothd, or made while none ran.
  var orphans: [LinkIdentifier: Orphan] = [:]
  /// The devices that a killed bluetoothd was looking for.
  var armed: InitiatorParameters?
  /// The devices that a `Connect()` or `Pair()` call has reached. Linux 6.12 goes on treating their list entries as
  /// entries of such a call (`explicit_connect`). When bluetoothd clears the list, the kernel keeps these entries and
  /// connects once more.
  var reached: Set<DeviceAddress> = []
  /// List entries that survived such a clearing. Each is good for one connection, or until the power goes off.
  var lingering: Set<InitiatorTarget> = []

  func add(to deadlines: inout Deadlines) {
    for (link, orphan) in orphans.sorted(by: { $0.key < $1.key }) { deadlines.add(orphan.deadline, .orphan(link)) }
  }

  struct Orphan: Sendable {
    var parameters: LinkParameters
    var isEncrypted = false
    /// When the kernel ends the link.
    var deadline: Instant
  }
}
