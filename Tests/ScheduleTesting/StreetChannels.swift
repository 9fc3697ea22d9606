import AppLink
import BlueZ
import BlueZModel
import BluetoothSystem
import BluetoothTypes

/// One end of an L2CAP channel on a machine.
struct SocketKey: Sendable, Hashable, Comparable {
  let machine: String
  let channel: ChannelIdentifier
  static func < (left: Self, right: Self) -> Bool { (left.machine, left.channel) < (right.machine, right.channel) }
}

struct Socket: Sendable {
  /// As a file descriptor, it is closed when nobody has it any more: neither the app nor, on the way to it, latchkeyd.
  weak var descriptor: ChannelDescriptor?
  /// The other side has ended it.
  var isEnded = false
}

/// L2CAP channels. Apps open them and send nothing over them. A channel ends with its link, with the connection of its
/// app, and with either app's process.
extension Street {
  mutating func take(_ effect: BlueZModel.ChannelEffect, of name: String) {
    switch effect {
    case .openCredit(let channel, let client, let call, let mtu, let device):
      // If the system has died since its call, nobody gets the answer, and the channel ends.
      guard machines[name]?.client == client else {
        return open.append(.world(.channel(machine: name, channel, .closed)))
      }
      let descriptor = ChannelDescriptor(owning: -1) { _ in }
      sockets[SocketKey(machine: name, channel: channel)] = Socket(descriptor: descriptor)
      open.append(
        .system(name, .daemon(.reply(call, .success(.creditChannel(descriptor, mtu: mtu, device: device))))))
    case .close(let channel): sockets[SocketKey(machine: name, channel: channel)]?.isEnded = true
    case .open, .data, .read: break
    }
  }

  /// Ends the channels whose end on a machine nobody has any more, and takes from apps those that the other side ended.
  mutating func endChannels() {
    guard !sockets.isEmpty else { return }
    for (key, socket) in sockets.sorted(by: { $0.key < $1.key }) {
      if let descriptor = socket.descriptor {
        guard socket.isEnded, let machine = machines[key.machine] else { continue }
        for bundle in machine.apps.keys { machines[key.machine]?.apps[bundle]?.channelEnded(descriptor) }
      } else {
        sockets[key] = nil
        if !socket.isEnded { open.append(.world(.channel(machine: key.machine, key.channel, .closed))) }
      }
    }
  }

  /// A channel that one side has ended is over for the other side as well.
  func unevenChannels() -> [String] {
    var atCentrals: [Target: Int] = [:]
    var atApps: [Target: Int] = [:]
    for actor in cast.actors {
      for manager in app(actor.name)?.managers.values.map(\.self) ?? [] {
        for channel in manager.openChannels {
          if manager.plan.role == .central {
            atCentrals[channel.target, default: 0] += 1
          } else {
            atApps[channel.target, default: 0] += 1
          }
        }
      }
    }
    return Target.allCases.compactMap { target in
      let (central, app) = (atCentrals[target] ?? 0, atApps[target] ?? 0)
      guard central != app else { return nil }
      return "centrals have \(central) L2CAP channels to \(target), and its app has \(app)"
    }
  }

  /// Each channel that is published can be opened, and both sides hear of it.
  mutating func openChannels() -> [String] {
    let before = channels
    var psms: [Target: UInt16] = [:]
    for target in Target.allCases { psms[target] = psm(of: target) }
    var wanted = 0
    forEachConnected { app, number, target in
      guard let psm = psms[target] else { return [] }
      let requests = app.openChannel(number, target, psm: psm)
      wanted += requests.count
      return requests
    }
    let untold = cast.actors.filter { actor in
      guard let app = app(actor.name), let number = app.publisher, let manager = app.managers[number] else {
        return false
      }
      return manager.channel != nil && manager.channel?.psm == nil
    }
    guard untold.isEmpty else { return untold.map { "\($0.name) was never told its PSM" } }
    guard wanted > 0 else { return [] }
    pass(.seconds(30))
    let (opened, taken) = (channels.opened - before.opened, channels.taken - before.taken)
    guard (opened, taken) != (wanted, wanted) else { return [] }
    return ["of \(wanted) L2CAP channels \(opened) were opened, and \(taken) heard of by the other side"]
  }

  private var channels: (opened: Int, taken: Int) {
    cast.actors.compactMap { app($0.name)?.disk }
      .reduce((0, 0)) { ($0.0 + $1.channelsOpened, $0.1 + $1.channelsTaken) }
  }

  /// Without links there are no channels.
  func channelsWithoutLink() -> [String] {
    sockets.sorted { $0.key < $1.key }.filter { $0.value.descriptor != nil && !$0.value.isEnded }.map {
      "an L2CAP channel of \($0.key.machine) outlives its link"
    }
  }
}
