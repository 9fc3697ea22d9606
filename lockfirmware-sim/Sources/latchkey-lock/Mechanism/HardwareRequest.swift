import Foundation
import LockFirmware

/// One line of the hardware socket: what the world does to a simulated lock.
struct HardwareRequest: Decodable {
  var door: String?
  var turn: String?
  /// The side of the hand that turns the bolt: `inside` or `outside`.
  var from: String?
  /// What is wrong with the motor: `jam`, `stall` or `none`.
  var fault: String?
  /// The battery's charge in percent, and how many percent each turn takes.
  var battery: Int?
  var drain: Int?
  /// Whether the cover is off.
  var tamper: Bool?
  /// The button for the operating mode: `normal`, `privacy`, `passage` or `noRemoteLockUnlock`.
  var mode: String?
  /// The reset button: `pressed` or `released`.
  var reset: String?
  /// The button for enrolments: `pressed`.
  var enroll: String?
  var status: Bool?

  static let help = #"""
    {"error":"not a request: {\"door\":\"open\"|\"shut\"}, {\"turn\":\"locked\"|\"unlocked\",\"from\":\"inside\"|\"outside\"}, \#
    {\"fault\":\"jam\"|\"stall\"|\"none\"}, {\"battery\":0…100}, {\"drain\":0…100}, {\"tamper\":true|false}, \#
    {\"mode\":\"normal\"|\"privacy\"|\"passage\"|\"noRemoteLockUnlock\"}, {\"reset\":\"pressed\"|\"released\"}, \#
    {\"enroll\":\"pressed\"}, \#
    {\"status\":true}"}
    """#

  init?(line: String) {
    guard let read = try? JSONDecoder().decode(HardwareRequest.self, from: Data(line.utf8)) else { return nil }
    self = read
  }

  /// Whether the request changes something. If not, only the status is wanted.
  var isAction: Bool {
    door != nil || turn != nil || fault != nil || battery != nil || drain != nil || tamper != nil || mode != nil
      || reset != nil || enroll != nil
  }
}

extension OperatingMode {
  static func named(_ name: String) -> OperatingMode? { allCases.first { "\($0)" == name && $0 != .vacation } }
}

extension HandSide {
  static func named(_ name: String?) -> HandSide? {
    switch name {
    case nil: .unknown
    case "inside": .inside
    case "outside": .outside
    default: nil
    }
  }
}
