import BluetoothTypes
import Radio
import TimeTypes

/// Who a machine's Bluetooth is, and how its bluetoothd and kernel are set up.
public struct BlueZConfiguration: Sendable {
  public var controller: ControllerIdentifier
  /// The controller's own address, which is its identity.
  public var address: DeviceAddress
  /// Adapter1.Name, by default the machine's name.
  public var name: String
  public var identityKey: IdentityResolvingKey
  /// `Privacy = device` of main.conf: resolvable private addresses on the air.
  public var isPrivate: Bool
  /// Keys of bonds are drawn from it.
  public var seed: UInt64
  /// Which of a machine's adapters this is: 0 for hci0. What a bluetoothd has once, and not for each adapter, is the first's.
  public var adapterNumber = 0
  /// Whether bluetoothd runs with `--experimental`, or `Experimental = true` in main.conf: only then it has monitors.
  public var isExperimental = false
  public var quirks = Quirks()
  public var timings = Timings()

  public init(
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

  /// Faults of bluetoothd that were seen and that those above it must live with.
  public struct Quirks: Sendable {
    /// A read or a write that is still unanswered when the link drops kills bluetoothd.
    public var crashesOnUnansweredRequest = true
    public init() {}
  }

  /// How long bluetoothd and the kernel wait, as measured.
  public struct Timings: Sendable {
    /// [General] TemporaryTimeout.
    public var temporaryDevice: Duration = .seconds(30)
    /// A device without a bond that could not be connected to or paired with vanishes so soon.
    public var failedDevice: Duration = .seconds(1)
    /// `Connect()` to a device that does not answer.
    public var connect: Duration = .seconds(41)
    /// From `Disconnect()` to the end of the link.
    public var disconnect: Duration = .seconds(2)
    /// Attribute protocol transaction (Bluetooth Core, Vol 3, Part F, 3.3.3).
    public var transaction: Duration = .seconds(30)
    /// What a GATT server application has for its answer.
    public var application: Duration = .seconds(5)
    /// A link that no process holds (the kernel's HCI_DISCONN_TIMEOUT).
    public var orphanedLink: Duration = .seconds(2)
    /// What an agent has for its answer.
    public var agent: Duration = .seconds(60)
    /// From a machine's boot to its bluetoothd: others are on the bus before it.
    public var boot: Duration = .milliseconds(100)
    /// `RestartSec` of the unit, after a crash; `nil` where nothing restarts it.
    public var restartAfterCrash: Duration? = .seconds(1)
    /// The kernel restarts a filtered scan so that devices still there are seen again.
    public var discoveryRestart: Duration = .milliseconds(10240)
    public init() {}
  }
}

/// What the kernel knows and a killed bluetoothd leaves behind.
struct Kernel: Sendable {
  var isPlugged = true
  var isBlocked = false
  /// What the controller was last told, so that nothing is told twice.
  var initiator: InitiatorParameters?
  var scan: ScanParameters?
  var powered = false
  /// Whether it lets others bond; bluetoothd switches it with its agents.
  var isPairable = false
  var advertisingSets: Set<UInt8> = []
  /// Links that nobody holds: of a bluetoothd that was killed, or that came up while none ran.
  var orphans: [LinkIdentifier: Orphan] = [:]
  /// Whom a killed bluetoothd had it look for.
  var armed: InitiatorParameters?
  /// Devices that `Connect()` or `Pair()` has reached. Linux 6.12 goes on taking their entries for such a call's (its
  /// `explicit_connect`), and does not drop them when bluetoothd has it drop all, but connects once more.
  var reached: Set<DeviceAddress> = []
  /// Entries that were not dropped with all others: good for one connection, or until power goes off.
  var lingering: Set<InitiatorTarget> = []

  func add(to deadlines: inout Deadlines) {
    for (link, orphan) in orphans.sorted(by: { $0.key < $1.key }) { deadlines.add(orphan.deadline, .orphan(link)) }
  }

  struct Orphan: Sendable {
    var parameters: LinkParameters
    var isEncrypted = false
    /// When the kernel ends it.
    var deadline: Instant
  }
}
