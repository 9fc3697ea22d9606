// swift-tools-version: 6.2
import PackageDescription

/// For every target of this package: Swift 6 language mode, and warnings are errors.
let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
]

let log: Target.Dependency = .product(name: "Logging", package: "swift-log")
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let signals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let sqlite: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift")
let subprocess: Target.Dependency = .product(name: "Subprocess", package: "swift-subprocess")
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let ordered: Target.Dependency = .product(name: "OrderedCollections", package: "swift-collections")
let trees: Target.Dependency = .product(name: "HashTreeCollections", package: "swift-collections")
let system: Target.Dependency = .product(name: "SystemPackage", package: "swift-system")
let yams: Target.Dependency = .product(name: "Yams", package: "Yams")

func library(_ name: String, _ dependencies: [Target.Dependency] = [], path: String? = nil) -> Target {
  .target(name: name, dependencies: dependencies, path: path ?? "Sources/\(name)", swiftSettings: strict)
}

func outsideCode(_ name: String, path: String, _ mode: SwiftLanguageMode, excluding: [String] = []) -> Target {
  .target(
    name: name, dependencies: ["CoreBluetooth"], path: path, exclude: excluding, packageAccess: false,
    swiftSettings: [.swiftLanguageMode(mode), .treatAllWarnings(as: .error)])
}

func outsideTests(_ name: String) -> Target {
  .testTarget(
    name: name, dependencies: ["CoreBluetoothTestKit", "AppCodeSwift6"], path: "Tests/\(name)", packageAccess: false,
    swiftSettings: strict)
}

func program(_ name: String, _ dependencies: [Target.Dependency], path: String? = nil) -> Target {
  .executableTarget(name: name, dependencies: dependencies, path: path ?? "Sources/\(name)", swiftSettings: strict)
}

func tests(
  _ name: String, _ dependencies: [Target.Dependency], resources: [Resource]? = nil, excluding: [String] = []
) -> Target {
  .testTarget(
    name: name, dependencies: dependencies, path: "Tests/\(name)", exclude: excluding, resources: resources,
    swiftSettings: strict)
}

let package = Package(
  name: "Latchkey",
  products: [
    .library(name: "CoreBluetooth", targets: ["CoreBluetooth"]),
    .library(name: "LatchkeyTime", targets: ["LatchkeyTime"]),
    .library(name: "CoreBluetoothTestKit", targets: ["CoreBluetoothTestKit"]),
    // Not linked with anything: `latchkey prove` has it loaded into the apps of a story.
    .library(name: "latchkey-story-time", type: .dynamic, targets: ["StoryTime"]),
  ],
  // Exact versions, so that a checkout always builds the same, and Package.resolved need not be committed.
  dependencies: [
    // The commands' arguments, help texts and shell completions.
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    // Every process logs with it. The journal is one of its log handlers.
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    // X25519, ChaCha20-Poly1305, SHA-256 and HKDF for the lock's Noise session.
    .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
    // Orderly start and stop of the daemons on signals.
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    // latchkeyd's store: SQLite with migrations.
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    // Scenario files are YAML.
    .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
    // Processes that the tests start. They inherit no unrelated descriptors, and waiting for them blocks no thread.
    .package(url: "https://github.com/swiftlang/swift-subprocess", exact: "1.0.2"),
    // Queues that are consumed from the front, ordered sets and dictionaries of pending changes, and tables of which a
    // turn that may have to be undone keeps a copy (HashTreeCollections).
    .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
    // Whole buffers written to descriptors, with the system's errors.
    .package(url: "https://github.com/apple/swift-system", exact: "1.8.1"),
    // For `make docs`. No target needs it.
    .package(url: "https://github.com/swiftlang/swift-docc-plugin", exact: "1.5.0"),
  ],
  targets: [
    // The base: C libraries and the types that all modules share.
    .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .systemLibrary(name: "CBluetooth", pkgConfig: "bluez", providers: [.apt(["libbluetooth-dev"])]),
    // Points in time. There is no clock in it.
    library("TimeTypes"),
    library("BluetoothTypes"),
    library("BusValue"),
    // Files that survive a power cut.
    library("DurableFiles", [system]),
    library("LatchkeyVersion"),
    library("ConsoleOutput"),
    // The names of journal events.
    library("JournalEvents"),
    // Child processes: starting them, their output, their exits.
    library("ChildProcesses", ["CSystemd", "Threads", system]),
    library("Threads"),
    library("Timekeeping", ["TimeTypes", "CSystemd", "Threads"]),
    library("Journal", ["CSystemd", "JournalEvents", "Timekeeping", log]),

    // The interface to bluetoothd: org.bluez, as values and over the bus.
    library("SystemBus", ["CSystemd", "BusValue", "Threads"]),
    library("BlueZ", ["BluetoothTypes", "BusValue"]),
    library(
      "BlueZBus",
      ["BlueZ", "BluetoothTypes", "BusValue", "SystemBus", "Threads", "Timekeeping", "CBluetooth", "TimeTypes", log]),

    // The other side of that interface, simulated.
    library("Radio", ["BluetoothTypes", "TimeTypes"]),
    library("BlueZModel", ["BlueZ", "BluetoothTypes", "BusValue", "Radio", "TimeTypes"]),
    library(
      "BlueZSimulator",
      [
        "BlueZ", "BlueZModel", "BlueZBus", "BluetoothTypes", "SystemBus", "Radio", "Timekeeping", "TimeTypes",
        "Journal", "JournalEvents", "BusValue", log,
      ]),

    // The interface to apps, as values and over the bus.
    library("AppLink", ["BluetoothTypes"]),
    library(
      "AppLinkBus",
      ["AppLink", "BluetoothTypes", "BusValue", "LatchkeyVersion", "SystemBus", "Timekeeping", "TimeTypes", deque, log]),

    // The system, and the API that apps import.
    library(
      "BluetoothSystem",
      ["BlueZ", "AppLink", "BluetoothTypes", "BusValue", "JournalEvents", "TimeTypes", ordered, trees]),
    library(
      "LatchkeyDaemon",
      [
        "BluetoothSystem", "AppLink", "BlueZ", "BlueZBus", "AppLinkBus", "BusValue", "SystemBus", "Timekeeping",
        "Journal", "JournalEvents", "CSystemd", "DurableFiles", "TimeTypes", "LatchkeyVersion", deque, ordered, grdb,
        log,
      ]),
    // The C library's clocks, timers and waits in the apps of a story. It must bring no Swift into them, which they may
    // have in another version. What is Embedded Swift is linked without Swift's libraries.
    .target(
      name: "StoryTime", linkerSettings: [.unsafeFlags(["-enable-experimental-feature", "Embedded"])]),
    // The story's time for apps, which is the machine's time elsewhere.
    library("LatchkeyTime", ["Timekeeping", "TimeTypes"]),
    library(
      "CoreBluetooth",
      ["CSystemd", "JournalEvents", "AppLink", "AppLinkBus", "BluetoothTypes", "Threads", "Timekeeping", log]),
    library(
      "CoreBluetoothTestKit",
      [
        "CoreBluetooth", "AppLink", "BlueZ", "BluetoothSystem", "BluetoothTypes", "BlueZModel", "JournalEvents",
        "Radio", "Timekeeping", "TimeTypes", log,
      ]),

    // The lock and the agent.
    library("LockProtocol"),
    library("LockCryptography", ["LockProtocol", crypto]),
    // What a person asks the agent through the command, and its answers.
    library("AgentQuestions"),
    library("HomePolicy", ["TimeTypes"]),
    library("LockFirmware", ["LockProtocol"], path: "lockfirmware-sim/Sources/LockFirmware"),
    // The lock's log on disk.
    library(
      "LockRecords", ["LockFirmware", "LockProtocol", "LockCryptography", "DurableFiles", log],
      path: "lockfirmware-sim/Sources/LockRecords"),
    library("LockScript", ["LockFirmware", "LockProtocol"], path: "lockfirmware-sim/Sources/LockScript"),

    // Machines and their processes, and the scenarios that run on them and are checked.
    library(
      "Worlds",
      [
        "ChildProcesses", "CSystemd", "Timekeeping", "Journal", "JournalEvents", "BlueZ", "BlueZSimulator", "Radio",
        "AppLink", "AppLinkBus", "SystemBus", "BusValue", "LockCryptography", "BlueZModel", "Threads", "TimeTypes",
        yams,
      ]),
    library(
      "Stories",
      [
        "AgentQuestions", "BluetoothSystem", "BluetoothTypes", "ChildProcesses", "HomePolicy", "LockCryptography",
        "LockFirmware", "LockProtocol", "Worlds", "Journal", "JournalEvents", "Radio", "AppLink", "TimeTypes", yams,
      ]),

    // Shows a story and its verdict to a person: in words on a terminal, and as a picture.
    library("StoryPresentation", ["Stories", "Worlds", "Journal", "JournalEvents", "ConsoleOutput", "TimeTypes"]),

    // Shows a machine to a person, in words and on a full screen, and to programs as JSON.
    library("MachinePresentation", ["AppLink", "ConsoleOutput"]),

    // Configures a machine as a lock or a phone.
    library(
      "MachineSetup",
      ["ChildProcesses", "LockProtocol", "LockCryptography", "AppLink", "BlueZ", "BusValue", "SystemBus", "AppLinkBus"]),

    // Examines a machine: whether it can keep the promise, and if not, what mends it.
    library(
      "MachineDiagnosis",
      [
        "MachineSetup", "LockCryptography", "LockFirmware", "AppLink", "AppLinkBus", "BlueZ", "BusValue", "SystemBus",
        "ChildProcesses", "Journal", "JournalEvents", "ConsoleOutput", "LatchkeyVersion",
      ]),

    // One test suite of BlueZ behaviour, for the simulator and for bluetoothd.
    library(
      "BlueZConformance",
      [
        "BlueZ", "BlueZModel", "BlueZSimulator", "BusValue", "CSystemd", "ChildProcesses", "SystemBus", "Timekeeping",
        "TimeTypes", subprocess,
      ]),

    // The programs.
    program(
      "latchkeyd",
      [
        "LatchkeyDaemon", "BluetoothSystem", "ConsoleOutput", "LatchkeyVersion", "Journal", "JournalEvents",
        "Timekeeping", arguments, lifecycle, signals, log,
      ]),
    program(
      "latchkey-agent",
      [
        "AgentQuestions", "CoreBluetooth", "LockProtocol", "LockCryptography", "LockFirmware", "HomePolicy",
        "LatchkeyVersion", "Timekeeping",
        "Journal", "JournalEvents", "CSystemd", "DurableFiles", "TimeTypes", arguments, log,
      ]),
    program(
      "latchkey",
      [
        "Stories", "StoryPresentation", "Worlds", "MachinePresentation", "MachineSetup", "MachineDiagnosis",
        "AgentQuestions", "CoreBluetooth", "LockProtocol", "LockCryptography", "LatchkeyVersion", "AppLink",
        "AppLinkBus", "BusValue", "ChildProcesses", "ConsoleOutput", "SystemBus",
        "Threads",
        "TimeTypes", arguments, system,
      ]),
    program(
      "latchkey-bench",
      [
        "Stories", "Worlds", "Journal", "JournalEvents", "TimeTypes", "AppLinkBus", "CoreBluetooth",
        "CoreBluetoothTestKit", "LatchkeyDaemon", "BluetoothSystem", "AppLink", "BlueZ", "BlueZModel", "BusValue",
        "BluetoothTypes", "ChildProcesses", "LockCryptography", "ArrivalTimes", "LockProtocol", "LockFirmware",
        "LockRecords", "HomePolicy", crypto, arguments, log,
      ],
      path: "Benchmarks/latchkey-bench"),
    // How long thousands of simulated arrivals take.
    library(
      "ArrivalTimes",
      [
        "CoreBluetooth", "CoreBluetoothTestKit", "LockFirmware", "LockProtocol", "LockCryptography", "Radio",
        "BluetoothTypes", "TimeTypes", crypto,
      ], path: "Benchmarks/ArrivalTimes"),
    // Tries the policy's thresholds on thousands of simulated approaches.
    library(
      "ApproachTrials", ["HomePolicy", "LockFirmware", "Radio", "BluetoothTypes", "TimeTypes"],
      path: "Benchmarks/ApproachTrials"),
    program("approach-trials", ["ApproachTrials", "Radio", arguments], path: "Benchmarks/approach-trials"),
    program(
      "bluez-conformance", ["BlueZConformance", "ChildProcesses", "Worlds", "Timekeeping", "TimeTypes", arguments]),
    program(
      "bluez-simulator",
      [
        "BlueZSimulator", "ConsoleOutput", "Radio", "LatchkeyVersion", "Journal", "JournalEvents", "Timekeeping",
        arguments, log,
      ]),
    program(
      "latchkey-lock",
      [
        "CoreBluetooth", "LockFirmware", "LockProtocol", "LockRecords", "LockCryptography", "LatchkeyVersion",
        "Timekeeping", "ChildProcesses", "Journal", "JournalEvents", "CSystemd", "DurableFiles", "TimeTypes", arguments,
        log,
      ],
      path: "lockfirmware-sim/Sources/latchkey-lock"),

    // Apps as an iOS developer writes them. Each has its Info.plist and its story.
    program("heart-rate-collector", ["CoreBluetooth"], path: "Examples/HeartRateCollector/Sources"),
    program("heart-rate-strap", ["CoreBluetooth"], path: "Examples/HeartRateStrap/Sources"),
    program("history-sensor", ["CoreBluetooth"], path: "Examples/HistorySensor/Sources"),
    program("history-reader", ["CoreBluetooth"], path: "Examples/HistoryReader/Sources"),
    program("picture-sender", ["CoreBluetooth"], path: "Examples/PictureSender/Sources"),
    program("picture-receiver", ["CoreBluetooth"], path: "Examples/PictureReceiver/Sources"),

    tests("ChildProcessesTests", ["ChildProcesses", "Threads"]),
    tests("TimekeepingTests", ["Timekeeping", "LatchkeyTime", "Journal", "JournalEvents", "TimeTypes", log]),
    // A private dbus-daemon for tests over a bus.
    library("BusTesting", ["SystemBus", "ChildProcesses", "Threads"], path: "Tests/BusTesting"),
    // Processes and threads that tests start.
    library("ProcessTesting", [subprocess, system, "CSystemd", "Threads"], path: "Tests/ProcessTesting"),
    tests("ProcessTestingTests", ["ProcessTesting"]),
    tests("SystemBusTests", ["SystemBus", "BusValue", "BusTesting"]),
    tests(
      "BlueZBusTests",
      ["BlueZBus", "BlueZ", "BluetoothTypes", "BusValue", "SystemBus", "BusTesting", "Threads", log]),
    tests("RadioTests", ["ProcessTesting", "Radio", "BluetoothTypes", "TimeTypes"]),
    tests("BlueZModelTests", ["BlueZModel", "BlueZ", "BluetoothTypes", "BusValue", "Radio", "TimeTypes"]),
    tests(
      "BlueZSimulatorTests",
      [
        "BlueZSimulator", "BlueZBus", "BlueZModel", "BlueZ", "BluetoothTypes", "BusValue", "SystemBus", "Timekeeping",
        "TimeTypes", "BusTesting", "ProcessTesting", "Threads", log,
      ]),
    tests(
      "AppLinkBusTests",
      [
        "AppLinkBus", "AppLink", "BluetoothTypes", "BusValue", "SystemBus", "Timekeeping", "BusTesting", "TimeTypes",
        log,
      ], excluding: ["Recorded"]),
    tests(
      "BluetoothSystemTests",
      [
        "BluetoothSystem", "ProcessTesting", "BlueZModel", "Radio", "AppLink", "BlueZ", "BluetoothTypes", "BusValue",
        "JournalEvents", "TimeTypes",
      ], excluding: ["Recorded"]),
    tests(
      "LatchkeyDaemonTests",
      [
        "LatchkeyDaemon", "BluetoothSystem", "AppLink", "AppLinkBus", "BlueZ", "BusValue", "RandomTesting",
        "Timekeeping", "BluetoothTypes", "SystemBus", "TimeTypes", "LatchkeyVersion", "BusTesting", grdb, sqlite, log,
      ], resources: [.copy("Stores")]),
    // Streets of machines in one process, and schedules of what happens on them.
    library(
      "ScheduleTesting",
      [
        "AppLink", "BlueZ", "BlueZModel", "BluetoothSystem", "BluetoothTypes", "BusValue", "Radio", "RandomTesting",
        "TimeTypes", trees,
      ], path: "Tests/ScheduleTesting"),
    program("schedule-soak", ["ScheduleTesting", arguments], path: "Tests/Support/schedule-soak"),
    tests("ScheduleTests", ["ScheduleTesting", "ProcessTesting"]),
    tests(
      "CoreBluetoothTests",
      [
        "CoreBluetooth", "CoreBluetoothTestKit", "AppLink", "BluetoothTypes", "Timekeeping", "AppCodeSwift5",
        "AppCodeSwift6",
        "APIUses",
      ]),
    // What apps and libraries for iOS contain. They import CoreBluetooth alone, and see what another package would see.
    outsideCode("AppCodeSwift5", path: "Tests/AppCode/Swift5", .v5),
    outsideCode("AppCodeSwift6", path: "Tests/AppCode/Swift6", .v6),
    // Tests of apps, as another package has them: they use the products alone.
    outsideTests("TestKitTests"),
    outsideTests("TestKitXCTests"),
    // A use of every declaration of the API. `scripts/generate-api-uses` writes it.
    outsideCode("APIUses", path: "Tests/AppCode/API", .v6, excluding: ["symbols.txt"]),
    tests("ArrivalTimesTests", ["ArrivalTimes"]),
    // Pseudorandom numbers from a fixed seed.
    library("RandomTesting", path: "Tests/RandomTesting"),
    tests(
      "LockProtocolTests", ["LockProtocol", "LockCryptography", "RandomTesting", crypto],
      resources: [.copy("Vectors")]),
    tests(
      "LockFirmwareTests",
      [
        "DurableFiles", "LockFirmware", "LockRecords", "ProcessTesting", "RandomTesting", "LockProtocol",
        "LockCryptography",
        "HomePolicy", "latchkey", "latchkey-lock", "TimeTypes", crypto, log,
      ], resources: [.copy("Files")], excluding: ["Drivers"]),
    tests("BoardTests", ["LockScript", "LockFirmware", "LockProtocol", "LockCryptography", "ProcessTesting", crypto]),
    tests(
      "HomePolicyTests",
      [
        "AgentQuestions", "HomePolicy", "RandomTesting", "latchkey-agent", "LockProtocol", "LockFirmware",
        "LockCryptography",
        "TimeTypes", "LatchkeyVersion", crypto, log,
      ],
      resources: [.copy("States")]),
    // A process for the tests of the world's clock.
    program("world-puppet", ["Timekeeping", "CSystemd", "TimeTypes", "Threads"], path: "Tests/Support/world-puppet"),
    // A process of that world that knows nothing of it.
    program("timer-puppet", [], path: "Tests/Support/timer-puppet"),
    tests(
      "WorldsTests",
      [
        "Worlds", "ProcessTesting", "Timekeeping", "CSystemd", "world-puppet", "timer-puppet", "latchkey", "TimeTypes",
      ]),
    // Recorded stories, exported as journals of systemd.
    library("StoryTesting", ["Stories", "Worlds", "Journal", "JournalEvents"], path: "Tests/StoryTesting"),
    tests(
      "StoriesTests",
      [
        "Stories", "StoryPresentation", "StoryTesting", "ConsoleOutput", "ChildProcesses", "Worlds", "BusTesting",
        "ProcessTesting", "BusValue", "SystemBus", "Journal", "JournalEvents", "latchkey", "Radio", "TimeTypes",
      ]),
    tests(
      "StoryPresentationTests",
      [
        "AppLink", "BlueZModel", "StoryPresentation", "Stories", "StoryTesting", "ConsoleOutput", "Journal",
        "JournalEvents", "TimeTypes",
      ]),
    tests("MachinePresentationTests", ["MachinePresentation", "AppLink", "ConsoleOutput"]),
    tests("MachineSetupTests", ["MachineSetup", "LockCryptography", "LockProtocol", "BlueZ", "BusValue"]),
    tests(
      "MachineDiagnosisTests",
      [
        "MachineDiagnosis", "MachineSetup", "LockFirmware", "LockProtocol", "AppLink", "BlueZ", "BusValue", "SystemBus",
        "ConsoleOutput",
      ]),
    // Runs on a machine that systemd has booted.
    program(
      "systemd-trial",
      [
        "ChildProcesses", "SystemBus", "BusValue", "AppLinkBus", "BlueZSimulator", "JournalEvents", "LockCryptography",
        "BusTesting",
      ],
      path: "Tests/Support/systemd-trial"
    ),
    tests(
      "SystemdTests",
      [
        "ProcessTesting", "systemd-trial", "latchkey", "latchkeyd", "latchkey-agent", "latchkey-lock",
        "bluez-simulator",
      ], excluding: ["prepare-machine"]),
    // Runs a story, and pauses it where a test inspects its world.
    program(
      "story-teller", ["Stories", "StoryPresentation", "ConsoleOutput", "Worlds"], path: "Tests/Support/story-teller"),
    // Runs a story with processes that misbehave. It is also the program of those processes.
    program(
      "saboteur",
      [
        "Stories", "StoryPresentation", "ConsoleOutput", "Worlds", "AppLink", "CoreBluetooth", "LockProtocol",
        "LockCryptography", "Journal", "JournalEvents", "Threads", "Timekeeping", "AppLinkBus", log,
      ], path: "Tests/Support/saboteur"),
    // An app whose arguments say what it does with Bluetooth, for stories about the rules of the background.
    program("trial-app", ["CoreBluetooth", "LatchkeyTime"], path: "Tests/Support/trial-app"),
    // An app that waits in every way there is, and knows nothing of stories.
    program("clock-app", ["CoreBluetooth"], path: "Tests/Support/clock-app"),
    // An app that sends arbitrary messages to latchkeyd over its bus.
    program(
      "hostile-app",
      ["AppLink", "AppLinkBus", "BlueZ", "BlueZBus", "BluetoothTypes", "BusValue", "SystemBus", log],
      path: "Tests/Support/hostile-app"),
    tests(
      "IntegrationTests",
      [
        "AgentQuestions", "ChildProcesses", "LockProtocol", "LockCryptography", "Stories", "StoryTesting", "Worlds",
        "BusTesting",
        "ProcessTesting", "Journal", "JournalEvents", "MachinePresentation", "AppLink", "AppLinkBus", "BusValue",
        "SystemBus", "latchkey", "latchkeyd",
        "latchkey-agent", "latchkey-lock", "bluez-simulator", "story-teller", "saboteur", "hostile-app", "trial-app",
        "clock-app",
        "heart-rate-collector", "heart-rate-strap", "history-sensor", "history-reader",
        grdb, log,
      ]),
    // The suite of BlueZ behaviour on the simulator, and a recording of its run on bluetoothd.
    tests(
      "ConformanceTests", ["BlueZConformance", "ProcessTesting", "bluez-conformance", "bluez-simulator"],
      resources: [.copy("Transcripts")]),
    // Clients of bluetoothd from other projects, on the simulator.
    tests(
      "ClientTests",
      [
        "ChildProcesses", "Worlds", "ProcessTesting", "Journal", "JournalEvents", "LatchkeyVersion", "latchkey",
        "latchkeyd", "latchkey-lock", "bluez-simulator",
      ],
      excluding: ["bleak_client.py", "bleak_passive.py"]),
  ]
)
