import CoreBluetooth
import LockFirmware
import LockProtocol

/// What the lock tells the user of its machine about its door.
struct DoorReports {
  private static let subject = "Door"
  private var hasReported = false
  /// What happened before the lock had its radio.
  private var early: [String] = []

  /// The bolt or the door may be elsewhere than before. The first call is when the lock has its radio.
  mutating func tell(_ mechanism: SimulatedMechanism) {
    let bolt =
      switch (mechanism.turning, mechanism.position) {
      case (_?, _): "turning"
      case (nil, .between): "neither locked nor unlocked"
      case (nil, .locked): "locked"
      case (nil, .unlocked): "unlocked"
      }
    // What the lock finds at its start has been so for some time.
    UserReport.state("\(bolt), door \(mechanism.doorWord)", of: Self.subject, isNew: hasReported)
    hasReported = true
    for text in early { UserReport.movement(text, of: Self.subject) }
    early = []
  }

  mutating func doorMoved(_ door: DoorState) { move(door == .open ? "opened" : "shut") }

  mutating func noted(_ note: LockNote) {
    switch note {
    case .boltMoved(let target, let cause, _): move("\(target), \(Self.words(cause))")
    case .boltJammed(let target, let cause, _): move("stuck on its way to \(target), \(Self.words(cause))")
    case .turnWasInterrupted: move("found half turned when the lock started")
    case .recordFailed: move("not turned, because the lock's log can't be written")
    case .offerSent, .commandAccepted, .commandRefused, .requestAccepted, .requestRefused,
      .accessChanged:
      break
    }
  }

  private mutating func move(_ text: String) {
    if hasReported { UserReport.movement(text, of: Self.subject) } else { early.append(text) }
  }

  private static func words(_ cause: MovementCause) -> String {
    switch cause {
    case .phone: "as a phone asked"
    case .leaving: "because its owner has left"
    case .relock: "by itself"
    case .hand: "by hand"
    }
  }
}
