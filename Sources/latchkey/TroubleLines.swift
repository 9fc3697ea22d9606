import Foundation
import MachinePresentation

/// What is wrong with a lock's log, and when the phone found it, as every other time that a person reads.
struct TroubleLines {
  private(set) var troubles: [(text: String, unixSeconds: Double?)] = []

  /// - Parameter times: those of the texts, in their order; an agent of an earlier version tells none.
  init(_ texts: [String], _ times: [Double]?) {
    for (number, text) in texts.enumerated() {
      troubles.append((text, times.flatMap { number < $0.count ? $0[number] : nil }))
    }
  }

  func lines(_ clock: LocalClock = .machine, now: Double = Date().timeIntervalSince1970) -> [String] {
    troubles.map { trouble in
      trouble.unixSeconds.map { "\(trouble.text) (found \(clock.second($0, now: now)))" } ?? trouble.text
    }
  }
}
