import AppLink
import BlueZ
import BlueZModel
import BluetoothSystem
import BluetoothTypes

/// L2CAP channels: the packets between the machines and the apps.
extension HomeEngine {
  struct ChannelKey: Hashable, Comparable {
    let machine: String
    let channel: ChannelIdentifier
    static func < (left: Self, right: Self) -> Bool { (left.machine, left.channel) < (right.machine, right.channel) }
  }

  func carryOut(_ effect: BlueZModel.ChannelEffect, of name: String) {
    switch effect {
    case .openCredit(let channel, let client, let call, let mtu, let device):
      let pipe = ChannelPipe(self)
      channels[ChannelKey(machine: name, channel: channel)] = pipe
      // If the system has been restarted since its call, nobody gets the answer, and the channel ends.
      guard machines[name]?.client == client else { return pipe.closeAll() }
      let descriptor = ChannelDescriptor(inProcess: PipeEnd(pipe))
      work.append(
        .system(name, .daemon(.reply(call, .success(.creditChannel(descriptor, mtu: mtu, device: device))))))
    case .read(let channel): channels[ChannelKey(machine: name, channel: channel)]?.isReading = true
    case .data(let channel, let packet):
      guard let pipe = channels[ChannelKey(machine: name, channel: channel)] else { return }
      pipe.unput.append(packet)
      put(into: pipe, ChannelKey(machine: name, channel: channel))
    case .close(let channel):
      guard let pipe = channels[ChannelKey(machine: name, channel: channel)] else { return }
      pipe.isEnding = true
      put(into: pipe, ChannelKey(machine: name, channel: channel))
    // Sockets of AcquireNotify and AcquireWrite, which the system does not use.
    case .open: break
    }
  }

  /// Gives the app what it has room for.
  private func put(into pipe: ChannelPipe, _ key: ChannelKey) {
    while let packet = pipe.unput.first, pipe.put(packet) {
      pipe.unput.removeFirst()
      work.append(.world(.channel(machine: key.machine, key.channel, .taken)))
    }
    if pipe.isEnding, pipe.unput.isEmpty {
      channels[key] = nil
      pipe.end()
    }
  }

  /// Carries packets between the apps and the machines, as far as both have room. Called only while no app does
  /// anything, so that an app's threads find the same room in every run. Returns whether anything was carried.
  func carryPackets() -> Bool {
    for key in channels.keys.sorted() {
      guard let pipe = channels[key] else { continue }
      put(into: pipe, key)
      guard pipe.isReading, let input = pipe.take() else { continue }
      pipe.isReading = false
      switch input {
      case .packet(let packet): work.append(.world(.channel(machine: key.machine, key.channel, .data(packet))))
      case .end:
        work.append(.world(.channel(machine: key.machine, key.channel, .closed)))
        channels[key] = nil
      }
    }
    let hasWork = !work.isEmpty
    settle()
    return hasWork
  }

  /// Gives the channel of an event to the app that is told the event.
  func give(_ event: AppLink.Event, to process: SimulatedApp) {
    let descriptor: ChannelDescriptor? =
      switch event.body {
      case .channelOpened(_, _, let descriptor, _): descriptor
      case .operationCompleted(_, _, .channel(let descriptor, _)): descriptor
      default: nil
      }
    (descriptor?.end as? PipeEnd)?.belongs(to: process)
  }

  /// A process has ended, and its ends of channels with it.
  func endChannels(of process: SimulatedApp) {
    for pipe in channels.values where pipe.isOf(process) { pipe.processEnded() }
  }

  /// Does something now, on this thread if it is the engine's own.
  func onThread(_ body: @escaping @Sendable (HomeEngine) -> Void) {
    if isOnThread { body(self) } else { enqueue(body) }
  }
}
