import CoreBluetooth
import Dispatch
import Foundation

/// What the app is to do, from its arguments.
struct TrialSetup {
  enum Role: String { case central, peripheral }

  struct Manager {
    var role: Role
    var restoreIdentifier: String?
    var options: [String: String] = [:]

    subscript(_ option: String) -> String? { options[option] }
    func uuid(_ option: String) -> CBUUID? { options[option].map { CBUUID(string: $0) } }
    /// Where its delegate is called.
    var queue: DispatchQueue { self["queue"] == "own" ? DispatchQueue(label: name) : .main }
    /// The name in records.
    var name: String { restoreIdentifier ?? role.rawValue }
  }

  var managers: [Manager] = []

  init?(_ words: [String]) {
    for word in words {
      if let equals = word.firstIndex(of: "=") {
        guard !managers.isEmpty else { return nil }
        managers[managers.count - 1].options[String(word[..<equals])] = String(word[word.index(after: equals)...])
      } else {
        let parts = word.split(separator: ":", maxSplits: 1).map(String.init)
        guard let role = Role(rawValue: parts[0]) else { return nil }
        managers.append(Manager(role: role, restoreIdentifier: parts.count > 1 ? parts[1] : nil))
      }
    }
    guard !managers.isEmpty else { return nil }
  }
}

extension Data {
  var hexadecimal: String { map { String(format: "%02x", $0) }.joined() }
}
