// swift-tools-version: 6.2
import PackageDescription

/// Every target of ours: Swift 6 language mode, and a warning is an error.
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
let yams: Target.Dependency = .product(name: "Yams", package: "Yams")

func library(_ name: String, _ dependencies: [Target.Dependency] = [], path: String? = nil) -> Target {
  .target(name: name, dependencies: dependencies, path: path ?? "Sources/\(name)", swiftSettings: strict)
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
    .library(name: "CoreBluetoothTestKit", targets: ["CoreBluetoothTestKit"]),
  ],
  // By exact versions: a checkout builds the same tomorrow, and a resolved file need not be kept.
  dependencies: [
    // The commands' arguments, help texts and shell completions.
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    // Every process logs through it; the journal is a handler of it.
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    // X25519, ChaCha20-Poly1305, SHA-256 and HKDF for the lock's Noise session.
    .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
    // Orderly start and stop of the daemons on signals.
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    // latchkeyd's store: SQLite with migrations.
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    // Scenario files are YAML.
    .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
    // The tests' processes: started without anybody else's descriptors, and awaited without blocking a thread.
    .package(url: "https://github.com/swiftlang/swift-subprocess", exact: "1.0.2"),
    // `make docs`: the products' pages. No target needs it.
    .package(url: "https://github.com/swiftlang/swift-docc-plugin", exact: "1.5.0"),
  ],
  targets: [
    // The ground: C libraries, and the words that every room shares.
    .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .systemLibrary(name: "CBluetooth", pkgConfig: "bluez", providers: [.apt(["libbluetooth-dev"])]),
    // Points in time, and no clock.
    library("TimeTypes"),
    library("BluetoothTypes"),
    library("BusValue"),
    // Files that outlive a power cut.
    library("DurableFiles"),
    library("LatchkeyVersion"),
    library("ConsoleOutput"),
    // The names of what programs record.
    library("JournalEvents"),
    library("Timekeeping", ["TimeTypes", "CSystemd"]),
    library("Journal", ["CSystemd", "JournalEvents", "Timekeeping", log]),

    // The seam to the radio: org.bluez, as values and over the bus.
    library("SystemBus", ["CSystemd", "BusValue"]),
    library("BlueZ", ["BluetoothTypes", "BusValue"]),
    library(
      "BlueZBus", ["BlueZ", "BluetoothTypes", "BusValue", "SystemBus", "Timekeeping", "CBluetooth", "TimeTypes", log]),

    // A machine's other side of that seam, simulated.
    library("Radio", ["BluetoothTypes", "TimeTypes"]),
    library("BlueZModel", ["BlueZ", "BluetoothTypes", "BusValue", "Radio", "TimeTypes"]),
    library(
      "BlueZSimulator",
      [
        "BlueZ", "BlueZModel", "BlueZBus", "SystemBus", "Radio", "Timekeeping", "Journal", "JournalEvents", "BusValue",
        log,
      ]),

    // The seam to apps, as values and over the bus.
    library("AppLink", ["BluetoothTypes"]),
    library("AppLinkBus", ["AppLink", "BluetoothTypes", "BusValue", "SystemBus", "Timekeeping", "TimeTypes", log]),

    // The system, and the API that apps import.
    library("BluetoothSystem", ["BlueZ", "AppLink", "BluetoothTypes", "BusValue", "JournalEvents", "TimeTypes"]),
    library(
      "LatchkeyDaemon",
      [
        "BluetoothSystem", "AppLink", "BlueZ", "BlueZBus", "AppLinkBus", "BusValue", "SystemBus", "Timekeeping",
        "Journal", "JournalEvents", "CSystemd", "DurableFiles", "TimeTypes", "LatchkeyVersion", grdb, log,
      ]),
    library("CoreBluetooth", ["AppLink", "AppLinkBus", "BluetoothTypes", log]),
    library(
      "CoreBluetoothTestKit",
      [
        "CoreBluetooth", "AppLink", "BluetoothSystem", "BlueZModel", "JournalEvents", "Radio", "Timekeeping",
        "TimeTypes", log,
      ]),

    // The lock and the agent.
    library("LockProtocol"),
    library("LockCryptography", ["LockProtocol", crypto]),
    library("HomePolicy", ["TimeTypes"]),
    library("LockFirmware", ["LockProtocol"], path: "lockfirmware-sim/Sources/LockFirmware"),

    // The orchestrator above them: machines and their processes, and stories that are told on them and judged.
    library(
      "Worlds",
      [
        "CSystemd", "Timekeeping", "Journal", "JournalEvents", "BlueZ", "BlueZSimulator", "Radio", "AppLink",
        "AppLinkBus",
        "SystemBus", "BusValue", "LockCryptography", "BlueZModel", "TimeTypes", yams,
      ]),
    library("Stories", ["Worlds", "Journal", "JournalEvents", "Radio", "AppLink", "TimeTypes", yams]),

    // What makes a machine a lock or a phone.
    library(
      "MachineSetup",
      ["LockCryptography", "AppLink", "BlueZ", "BusValue", "SystemBus", "AppLinkBus"]),

    // One suite of BlueZ behaviour, for the simulator and for bluetoothd.
    library(
      "BlueZConformance",
      [
        "BlueZ", "BlueZModel", "BlueZSimulator", "BusValue", "CSystemd", "Worlds", "SystemBus", "Timekeeping",
        "TimeTypes",
      ]),

    // Processes: thin shells.
    program(
      "latchkeyd",
      [
        "LatchkeyDaemon", "BluetoothSystem", "ConsoleOutput", "LatchkeyVersion", "Journal", "JournalEvents",
        "Timekeeping", arguments,
        lifecycle, signals, log,
      ]),
    program(
      "latchkey-agent",
      [
        "CoreBluetooth", "LockProtocol", "LockCryptography", "HomePolicy", "LatchkeyVersion", "Timekeeping", "Journal",
        "JournalEvents",
        "CSystemd", "DurableFiles", "TimeTypes", arguments, log,
      ]),
    program(
      "latchkey",
      [
        "Stories", "Worlds", "MachineSetup", "LockCryptography", "LatchkeyVersion", "AppLink", "AppLinkBus",
        "ConsoleOutput",
        arguments,
      ]),
    program(
      "latchkey-bench",
      [
        "Stories", "Worlds", "Journal", "JournalEvents", "TimeTypes", "AppLinkBus", "CoreBluetooth",
        "CoreBluetoothTestKit", "LatchkeyDaemon", "BluetoothSystem", "AppLink",
        "BlueZModel", "BluetoothTypes", arguments,
      ],
      path: "Benchmarks/latchkey-bench"),
    // The policy's thresholds, tried on thousands of simulated approaches.
    library(
      "ApproachTrials", ["HomePolicy", "LockFirmware", "Radio", "BluetoothTypes", "TimeTypes"],
      path: "Benchmarks/ApproachTrials"),
    program("approach-trials", ["ApproachTrials", "Radio", arguments], path: "Benchmarks/approach-trials"),
    program("bluez-conformance", ["BlueZConformance", "Worlds", "Timekeeping", "TimeTypes", arguments]),
    program(
      "bluez-simulator",
      [
        "BlueZSimulator", "ConsoleOutput", "Radio", "LatchkeyVersion", "Journal", "JournalEvents", "Timekeeping",
        arguments, log,
      ]),
    program(
      "latchkey-lock",
      [
        "CoreBluetooth", "LockFirmware", "LockProtocol", "LockCryptography", "LatchkeyVersion", "Timekeeping",
        "Journal", "JournalEvents", "CSystemd", "DurableFiles", "TimeTypes", arguments, log,
      ],
      path: "lockfirmware-sim/Sources/latchkey-lock"),

    tests("TimekeepingTests", ["Timekeeping", "Journal", "JournalEvents", "TimeTypes", log]),
    // A private dbus-daemon for the tests of the carriers.
    library("BusTesting", ["SystemBus", "CSystemd"], path: "Tests/BusTesting"),
    // Processes and threads of the tests' own.
    library("ProcessTesting", [subprocess, "CSystemd"], path: "Tests/ProcessTesting"),
    tests("ProcessTestingTests", ["ProcessTesting"]),
    tests("SystemBusTests", ["SystemBus", "BusValue", "BusTesting"]),
    tests("BlueZBusTests", ["BlueZBus", "BlueZ", "BluetoothTypes", "BusValue", "SystemBus", "BusTesting", log]),
    tests("RadioTests", ["ProcessTesting", "Radio", "BluetoothTypes", "TimeTypes"]),
    tests("BlueZModelTests", ["BlueZModel", "BlueZ", "BluetoothTypes", "BusValue", "Radio", "TimeTypes"]),
    tests(
      "BlueZSimulatorTests",
      [
        "BlueZSimulator", "BlueZBus", "BlueZModel", "BlueZ", "BluetoothTypes", "BusValue", "SystemBus", "Timekeeping",
        "BusTesting", log,
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
        "JournalEvents",
        "TimeTypes",
      ], excluding: ["Recorded"]),
    tests(
      "LatchkeyDaemonTests",
      [
        "LatchkeyDaemon", "BluetoothSystem", "AppLink", "BlueZ", "BusValue", "RandomTesting", "Timekeeping",
        "BluetoothTypes", "SystemBus", "TimeTypes", "LatchkeyVersion", grdb, sqlite, log,
      ], resources: [.copy("Stores")]),
    tests("CoreBluetoothTests", ["CoreBluetooth", "CoreBluetoothTestKit", "AppLink", "BluetoothTypes"]),
    // Numbers that look random and are the same every time.
    library("RandomTesting", path: "Tests/RandomTesting"),
    tests(
      "LockProtocolTests", ["LockProtocol", "LockCryptography", "RandomTesting", crypto],
      resources: [.copy("Vectors")]),
    tests(
      "LockFirmwareTests",
      [
        "DurableFiles", "LockFirmware", "ProcessTesting", "RandomTesting", "LockProtocol", "LockCryptography",
        "HomePolicy", "latchkey-lock", "TimeTypes", crypto, log,
      ], resources: [.copy("Files")]),
    tests(
      "HomePolicyTests",
      ["HomePolicy", "RandomTesting", "latchkey-agent", "TimeTypes", "LatchkeyVersion", log],
      resources: [.copy("States")]),
    // A process for the tests of the world's clock to move about.
    program("world-puppet", ["Timekeeping", "CSystemd", "TimeTypes"], path: "Tests/Support/world-puppet"),
    tests(
      "WorldsTests", ["Worlds", "ProcessTesting", "Timekeeping", "CSystemd", "world-puppet", "latchkey", "TimeTypes"]),
    tests(
      "StoriesTests",
      [
        "Stories", "Worlds", "BusTesting", "ProcessTesting", "BusValue", "SystemBus", "Journal", "JournalEvents",
        "latchkey", "Radio", "TimeTypes",
      ]),
    tests("MachineSetupTests", ["MachineSetup", "LockCryptography", "LockProtocol", "BlueZ", "BusValue"]),
    // What is done on a machine that systemd has booted.
    program(
      "systemd-trial",
      ["SystemBus", "BusValue", "BlueZSimulator", "JournalEvents", "LockCryptography", "BusTesting"],
      path: "Tests/Support/systemd-trial"
    ),
    tests(
      "SystemdTests",
      ["ProcessTesting", "systemd-trial", "latchkeyd", "latchkey-agent", "latchkey-lock", "bluez-simulator"],
      excluding: ["prepare-machine"]),
    // Tells a story, and stops where a test looks into its world.
    program("story-teller", ["Stories", "Worlds"], path: "Tests/Support/story-teller"),
    // Tells a story with processes that misbehave, and is those apps.
    program(
      "saboteur",
      [
        "Stories", "Worlds", "AppLink", "CoreBluetooth", "LockProtocol", "LockCryptography", "Journal", "JournalEvents",
        "Timekeeping",
        "AppLinkBus", log,
      ], path: "Tests/Support/saboteur"),
    // An app that says anything, for the siege of a latchkeyd over its bus.
    program(
      "hostile-app",
      ["AppLink", "AppLinkBus", "BlueZ", "BlueZBus", "BluetoothTypes", "BusValue", "SystemBus", log],
      path: "Tests/Support/hostile-app"),
    tests(
      "IntegrationTests",
      [
        "Stories", "Worlds", "BusTesting", "ProcessTesting", "Journal", "JournalEvents", "latchkey", "latchkeyd",
        "latchkey-agent",
        "latchkey-lock", "bluez-simulator", "story-teller", "saboteur", "hostile-app", grdb,
      ]),
    // The suite of BlueZ behaviour, on the simulator, and what it was seen to do on bluetoothd.
    tests(
      "ConformanceTests", ["BlueZConformance", "ProcessTesting", "bluez-conformance", "bluez-simulator"],
      resources: [.copy("Transcripts")]),
    // Clients of bluetoothd that are not ours, on the simulator.
    tests(
      "ClientTests",
      [
        "Worlds", "ProcessTesting", "Journal", "JournalEvents", "latchkey", "latchkeyd", "latchkey-lock",
        "bluez-simulator",
      ],
      excluding: ["bleak_client.py", "bleak_passive.py"]),
  ]
)
