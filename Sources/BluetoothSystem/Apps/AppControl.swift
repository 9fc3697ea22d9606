import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import TimeTypes

/// What the user asks of the system and is shown (`latchkey open`, `status` and so on).
extension BluetoothSystem {
  mutating func control(_ request: ControlRequest, _ token: AnswerToken) {
    switch request {
    // The carrier knows which requests are the client's own (`Event.withdrawn`).
    case .status, .watchStatus, .withdrawActions: break
    case .setBluetooth(let on): setBluetooth(on)
    case .reclaimMemory: reclaimMemory(because: "reclaimed")
    case .attendPairings: return attendPairings(token)
    case .answerPairing(let answer): answerPairing(answer)
    case .pair(let device): return pair(device, token)
    case .performAction(let name, let action):
      guard isKnown(name, token) else { return }
      return performAction(action, app: name, token)
    case .askApp(let name, let question, let argument):
      guard isKnown(name, token) else { return }
      return performAction(question, argument: argument, app: name, token)
    case .allowApp(let name, let isAllowed):
      guard isKnown(name, token) else { return }
      allow(name, isAllowed)
    case .openApp(let name), .leaveApp(let name), .quitApp(let name), .reclaimApp(let name):
      guard isKnown(name, token) else { return }
      control(request, app: name)
    }
    emit(.controlReply(token, .success(status)))
  }

  /// Refuses the request if the app is unknown.
  private mutating func isKnown(_ name: String, _ token: AnswerToken) -> Bool {
    if apps[name] != nil { return true }
    let known = appNames.isEmpty ? "none" : appNames.joined(separator: ", ")
    let others = leftOut.isEmpty ? "" : "; left out: \(leftOut.map(\.name).joined(separator: ", "))"
    let refusal =
      refusalOfLeftOut(name)
      ?? AppLinkError(.unknownApp, "There is no app \"\(name)\" here; there are: \(known)\(others).")
    emit(.controlReply(token, .failure(refusal)))
    return false
  }

  /// The error for a person or a program that asks for an app which can't be used. `nil` if the app is not one of
  /// these.
  func refusalOfLeftOut(_ name: String) -> AppLinkError? {
    leftOut.first { $0.name == name }.map { app in
      AppLinkError(.appLeftOut, "\"\(name)\" can't be used: \(app.reason) Mend that, and restart latchkeyd.")
    }
  }

  private mutating func control(_ request: ControlRequest, app name: String) {
    switch request {
    case .openApp: open(name)
    case .leaveApp:
      if apps[name]?.leave(at: now, configuration) == true { persistApp(name) }
    case .quitApp: quit(name)
    case .reclaimApp: end(name, because: "reclaimed")
    case .performAction, .askApp, .withdrawActions, .allowApp, .reclaimMemory, .setBluetooth, .status, .watchStatus,
      .attendPairings, .answerPairing, .pair:
      break
    }
  }

  private mutating func open(_ name: String) {
    wakeEnded(name, "opened")
    alerts.opened(name)
    let hasToResume = apps[name]?.open(at: now) == true
    if hasToResume, let process = apps[name]?.process {
      emit(.resume(name, process))
      journal(.appResumed, [.app: name, .because: "opened"])
    }
    persistApp(name)
  }

  /// Kills the app that has been suspended longest. Apps that always run are spared, because they would only be started
  /// again.
  mutating func reclaimMemory(because reason: String) {
    let suspended = apps.filter {
      $0.value.state == .suspended && !$0.value.isEnding && !$0.value.declaration.keepAlive
    }
    let oldest = suspended.min {
      ($0.value.life.process?.suspendedAt ?? .zero, $0.key) < ($1.value.life.process?.suspendedAt ?? .zero, $1.key)
    }
    if let oldest { end(oldest.key, because: reason) }
  }

  private mutating func quit(_ name: String) {
    apps[name]?.quit()
    alerts.removeAll(of: name)
    failActions(ofApp: name, onlyTold: false, "The app was quit.")
    persistApp(name)
    end(name, because: "quit")
    for key in managers.keys where key.app == name { removeManager(key) }
  }

  /// The switch in Settings. Switching Bluetooth off clears the preserved state of apps that are not running.
  private mutating func setBluetooth(_ on: Bool) {
    settings.bluetoothOn = on
    persist(.settings(settings))
    if let adapter = bluez.adapter {
      call(
        adapter, .set(\Adapter1.powered, to: on), for: .ignored)
    }
    guard !on else { return }
    for key in managers.keys {
      guard let app = apps[key.app], app.process == nil, app.state == .notRunning, !app.declaration.keepAlive else {
        continue
      }
      removeManager(key)
      apps[key.app]?.queue.removeAll { $0.manager == key }
    }
  }
}
