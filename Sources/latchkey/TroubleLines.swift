import Foundation
import MachinePresentation

/// The troubles with a lock's log, each with the time at which the phone found it.
struct TroubleLines {
  private(set) var troubles: [(text: String, unixSeconds: Double?)] = []

  /// - Parameter times: the times of the texts, in the same order, or `nil` from an agent of an earlier release.
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
