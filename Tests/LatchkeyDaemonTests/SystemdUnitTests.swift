import BluetoothSystem
import Testing

@testable import LatchkeyDaemon

@Suite("An app's systemd unit")
struct SystemdUnitTests {
  private let first = ProcessIdentity(processIdentifier: 10, startTicks: 1)
  private let second = ProcessIdentity(processIdentifier: 11, startTicks: 2)

  /// systemd's first report: the unit is loaded and not running.
  private func resting(_ report: UnitReport = UnitReport()) -> SystemdUnit {
    var unit = SystemdUnit(name: "app.service")
    #expect(unit.handle(.connected) == [.call(.inspect)])
    var report = report
    report.loadState = report.loadState ?? "loaded"
    report.mainProcess = report.mainProcess ?? .some(nil)
    #expect(unit.handle(.reported(report)) == [])
    #expect(unit.handle(.answered(.inspect, error: nil)) == [])
    return unit
  }

  private func running(_ report: UnitReport = UnitReport()) -> SystemdUnit {
    var unit = resting(report)
    #expect(unit.handle(.launch) == [.call(.start)])
    #expect(unit.handle(.answered(.start, error: nil)) == [.call(.inspect)])
    let report = UnitReport(mainProcess: .some(first), activeState: "active", freezerState: "running")
    #expect(unit.handle(.reported(report)) == [.launched(first)])
    #expect(unit.handle(.answered(.inspect, error: nil)) == [])
    return unit
  }

  private func frozen() -> SystemdUnit {
    var unit = running()
    #expect(unit.handle(.suspend(first)) == [.call(.freeze)])
    #expect(unit.handle(.answered(.freeze, error: nil)) == [])
    return unit
  }

  @Test("H3: launched once, by its main process; ended once, with how")
  func life() {
    var unit = running()
    #expect(unit.handle(.jobEnded("done")) == [.call(.inspect)])
    #expect(unit.handle(.reported(UnitReport(mainProcess: .some(first)))) == [])
    #expect(unit.handle(.answered(.inspect, error: nil)) == [])
    let end = UnitReport(mainProcess: .some(nil), exitCode: 2, exitStatus: 9)
    #expect(unit.handle(.reported(end)) == [.ended(first, how: "signal 9"), .call(.inspect)])
    #expect(unit.handle(.reported(end)) == [])
    #expect(unit.handle(.answered(.inspect, error: nil)) == [])
    #expect(unit.handle(.launch) == [.call(.start)])
  }

  @Test("H3: an app that dies before its start is over is started again when that start has failed, not with it")
  func deathWhileStarting() {
    var unit = running()
    let end = UnitReport(mainProcess: .some(nil), exitCode: 2, exitStatus: 9)
    #expect(unit.handle(.reported(end)) == [.ended(first, how: "signal 9"), .call(.inspect)])
    #expect(unit.handle(.launch) == [])
    #expect(unit.handle(.reported(UnitReport(mainProcess: .some(nil), activeState: "deactivating"))) == [])
    #expect(unit.handle(.answered(.inspect, error: nil)) == [])
    #expect(unit.handle(.jobEnded("failed")) == [.call(.inspect)])
    #expect(unit.handle(.reported(UnitReport(mainProcess: .some(nil), activeState: "failed"))) == [])
    #expect(unit.handle(.answered(.inspect, error: nil)) == [.call(.start)])
    #expect(unit.handle(.answered(.start, error: nil)) == [.call(.inspect)])
    #expect(unit.handle(.reported(UnitReport(mainProcess: .some(second)))) == [.launched(second)])
  }

  @Test("H3: an app launched while systemd is asked how it ended is started: the answer is older than the launch")
  func launchedWhileAsking() {
    var unit = resting()
    #expect(unit.handle(.launch) == [.call(.start)])
    #expect(unit.handle(.answered(.start, error: nil)) == [.call(.inspect)])
    // Another client had started it: this start is over before its process is reported.
    #expect(unit.handle(.jobEnded("done")) == [])
    let start = UnitReport(mainProcess: .some(first), activeState: "active", freezerState: "running")
    #expect(unit.handle(.reported(start)) == [.launched(first)])
    #expect(unit.handle(.answered(.inspect, error: nil)) == [.call(.inspect)])
    #expect(unit.handle(.answered(.inspect, error: nil)) == [])
    let end = UnitReport(mainProcess: .some(nil), activeState: "failed", exitCode: 2, exitStatus: 9)
    #expect(unit.handle(.reported(end)) == [.ended(first, how: "signal 9"), .call(.inspect)])
    #expect(unit.handle(.launch) == [])
    #expect(unit.handle(.reported(end)) == [])
    #expect(unit.handle(.answered(.inspect, error: nil)) == [.call(.start)])
    #expect(unit.handle(.answered(.start, error: nil)) == [.call(.inspect)])
    #expect(unit.handle(.reported(UnitReport(mainProcess: .some(second)))) == [.launched(second)])
  }

  @Test("H3: an app opened while its unit goes down with a process of its own is started at once, after that")
  func openedWhileStopping() {
    var unit = resting(UnitReport(mainProcess: .some(first), activeState: "deactivating"))
    // The start replaces the stop, and waits for it.
    #expect(unit.handle(.launch) == [.call(.start)])
    #expect(unit.handle(.jobEnded("canceled")) == [])
    #expect(unit.handle(.answered(.start, error: nil)) == [.call(.inspect)])
    #expect(
      unit.handle(.reported(UnitReport(mainProcess: .some(second), activeState: "active"))) == [.launched(second)])
  }

  @Test("H3: a frozen unit is thawed before it is killed, and the kill waits for the thaw")
  func frozenIsThawedFirst() {
    var unit = frozen()
    #expect(unit.handle(.kill(first)) == [.call(.thaw)])
    #expect(unit.handle(.suspend(first)) == [])
    #expect(unit.handle(.answered(.thaw, error: nil)) == [.call(.kill)])
    #expect(unit.handle(.answered(.kill, error: nil)) == [])
    #expect(
      unit.handle(.reported(UnitReport(mainProcess: .some(nil), exitCode: 2, exitStatus: 9)))
        == [.ended(first, how: "signal 9"), .call(.inspect)])
  }

  @Test("H3: a frozen unit that somebody wants to stop, which systemd refuses, is thawed and stopped")
  func frozenIsStopped() {
    var unit = frozen()
    #expect(unit.handle(.jobEnded("frozen")) == [.call(.inspect)])
    // Nothing that the system wants in the meantime keeps it alive or frozen.
    #expect(unit.handle(.suspend(first)) == [])
    #expect(unit.handle(.answered(.inspect, error: nil)) == [.call(.thaw)])
    #expect(unit.handle(.answered(.thaw, error: nil)) == [.call(.stop)])
    #expect(unit.handle(.answered(.stop, error: nil)) == [])
    let end = UnitReport(mainProcess: .some(nil), exitCode: 1, exitStatus: 0)
    #expect(unit.handle(.reported(end)) == [.ended(first, how: "exit 0"), .call(.inspect)])
    #expect(unit.handle(.launch) == [])
    #expect(unit.handle(.answered(.inspect, error: nil)) == [.call(.start)])
  }

  @Test("H3: a frozen unit that systemd does not thaw is killed at the fourth try")
  func frozenIsKilled() {
    var unit = frozen()
    #expect(unit.handle(.kill(first)) == [.call(.thaw)])
    for _ in 0..<2 {
      #expect(unit.handle(.answered(.thaw, error: "busy")) == [.call(.inspect)])
      #expect(unit.handle(.answered(.inspect, error: nil)) == [.call(.thaw)])
    }
    #expect(unit.handle(.answered(.thaw, error: "busy")) == [.call(.inspect)])
    #expect(unit.handle(.answered(.inspect, error: nil)) == [.call(.kill)])
  }

  @Test("H3: a stopping process can still be killed, and its end is reported though the stop is never answered")
  func killedWhileStopping() {
    var unit = frozen()
    #expect(unit.handle(.jobEnded("frozen")) == [.call(.inspect)])
    #expect(unit.handle(.answered(.inspect, error: nil)) == [.call(.thaw)])
    #expect(unit.handle(.kill(first)) == [])
    #expect(unit.handle(.answered(.thaw, error: nil)) == [.call(.kill)])

    var unanswered = frozen()
    _ = unanswered.handle(.jobEnded("frozen"))
    _ = unanswered.handle(.answered(.inspect, error: nil))
    #expect(unanswered.handle(.answered(.thaw, error: nil)) == [.call(.stop)])
    let end = UnitReport(mainProcess: .some(nil), exitCode: 1, exitStatus: 0)
    #expect(unanswered.handle(.reported(end)) == [.ended(first, how: "exit 0"), .call(.inspect)])
  }

  @Test("H3: a refused stop of an unknown process does not stop a process that is adopted later")
  func refusedStopOfNobody() {
    var unit = resting(UnitReport(mainProcess: .some(first), activeState: "active", freezerState: "frozen"))
    #expect(unit.handle(.jobEnded("frozen")) == [.call(.inspect)])
    #expect(unit.handle(.answered(.inspect, error: nil)) == [])
    #expect(unit.handle(.adopt(first)) == [.call(.thaw)])
    #expect(unit.handle(.answered(.thaw, error: nil)) == [])
  }

  @Test("H3: an app that dies while it is thawed is started again, though systemd never answers the thaw")
  func deathWhileThawed() {
    var unit = frozen()
    #expect(unit.handle(.resume(first)) == [.call(.thaw)])
    let end = UnitReport(mainProcess: .some(nil), exitCode: 2, exitStatus: 9)
    #expect(unit.handle(.reported(end)) == [.ended(first, how: "signal 9"), .call(.inspect)])
    #expect(unit.handle(.launch) == [])
    #expect(unit.handle(.answered(.inspect, error: nil)) == [.call(.start)])
  }

  @Test("H3: a unit with a running watchdog is never frozen, and this is reported once each time")
  func watchdog() {
    var unit = running(UnitReport(watchdog: 30_000_000))
    guard case .warn(let text)? = unit.handle(.suspend(first)).first else {
      Issue.record("it did not say so")
      return
    }
    #expect(text.contains("watchdog"))
    #expect(unit.handle(.reported(UnitReport(activeState: "active"))) == [])
    var without = running(UnitReport(watchdog: .max))
    #expect(without.handle(.suspend(first)) == [.call(.freeze)])
  }

  @Test("H3: the last wish wins: frozen, thawed and frozen in a row is one call at a time")
  func lastWish() {
    var unit = running()
    #expect(unit.handle(.suspend(first)) == [.call(.freeze)])
    #expect(unit.handle(.resume(first)) == [])
    #expect(unit.handle(.answered(.freeze, error: nil)) == [.call(.thaw)])
    #expect(unit.handle(.suspend(first)) == [])
    #expect(unit.handle(.answered(.thaw, error: nil)) == [.call(.freeze)])
  }

  @Test("H3: a unit that is not active yet is frozen when it is")
  func frozenWhenActive() {
    var unit = running()
    #expect(unit.handle(.reported(UnitReport(activeState: "activating"))) == [])
    #expect(unit.handle(.suspend(first)) == [])
    #expect(unit.handle(.reported(UnitReport(activeState: "active"))) == [.call(.freeze)])
  }

  @Test("H3: the next latchkeyd adopts what runs, and learns that what it knew of is gone")
  func adoption() {
    var unit = resting(UnitReport(mainProcess: .some(first), activeState: "active", freezerState: "frozen"))
    #expect(unit.handle(.adopt(first)) == [.call(.thaw)])
    #expect(unit.handle(.answered(.thaw, error: nil)) == [])
    var other = resting(UnitReport(mainProcess: .some(second)))
    #expect(other.handle(.adopt(first)) == [.ended(first, how: "gone"), .call(.inspect)])
    var early = SystemdUnit(name: "app.service")
    #expect(early.handle(.adopt(first)) == [.call(.inspect)])
    #expect(early.handle(.reported(UnitReport(loadState: "loaded"))) == [])
    #expect(early.handle(.reported(UnitReport(mainProcess: .some(nil)))) == [.ended(first, how: "gone")])
  }

  @Test("H3: a failed start is reported with its reason: no unit, no permission, a failed job, an immediate end")
  func failures() {
    var missing = resting(UnitReport(loadState: "not-found"))
    guard case .launchFailed(let text)? = missing.handle(.launch).first else {
      Issue.record("it did not fail")
      return
    }
    #expect(text.contains("not-found"))

    var refused = resting()
    _ = refused.handle(.launch)
    #expect(
      refused.handle(.answered(.start, error: "AccessDenied"))
        == [.launchFailed("app.service can't be started: AccessDenied")])

    var failed = resting()
    _ = failed.handle(.launch)
    _ = failed.handle(.answered(.start, error: nil))
    guard case .launchFailed? = failed.handle(.jobEnded("failed")).first else {
      Issue.record("it did not fail")
      return
    }

    var short = resting()
    _ = short.handle(.launch)
    _ = short.handle(.answered(.start, error: nil))
    #expect(short.handle(.jobEnded("done")) == [])
    // The report under way may be older than the end of the job.
    #expect(short.handle(.answered(.inspect, error: nil)) == [.call(.inspect)])
    #expect(
      short.handle(.answered(.inspect, error: nil))
        == [.launchFailed("app.service ended as soon as it was started.")])
  }

  @Test("H3: a systemd that refuses again and again is left alone, until something new is wanted")
  func refusals() {
    var unit = running()
    var effects = unit.handle(.suspend(first))
    var calls = 0
    while case .call(let call)? = effects.last, calls < 100 {
      calls += 1
      effects = unit.handle(.answered(call, error: call == .freeze ? "busy" : nil))
    }
    #expect(calls < 20)
    #expect(unit.handle(.resume(first)) == [])
    #expect(unit.handle(.suspend(first)) != [])
  }

  @Test("H3: nothing is done to a process that is not the unit's")
  func strangers() {
    var unit = running()
    for event in [SystemdUnit.Event.suspend(second), .resume(second), .kill(second)] {
      #expect(unit.handle(event) == [])
    }
  }
}
