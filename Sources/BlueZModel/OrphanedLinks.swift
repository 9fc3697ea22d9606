import BlueZ
import BusValue
import Radio
import TimeTypes

/// What the kernel does without a bluetoothd: it goes on connecting to the devices on its list, and ends a link that
/// no process holds after two seconds. A bluetoothd that starts in the meantime takes over such a link, but only to
/// show it.
extension BlueZModel {
  /// bluetoothd is dead.
  mutating func leaveToKernel() {
    for link in links.values {
      kernel.hold(link.parameters, isEncrypted: link.isEncrypted, until: now + configuration.timings.orphanedLink)
    }
    let targets = kernel.lingering.union(devices.values.compactMap(\.autoConnect))
    kernel.armed = targets.isEmpty ? nil : initiatorParameters(targets)
    if !kernel.hasCentralLink { tellInitiator(kernel.armed) }
  }

  /// A starting bluetoothd has the kernel clear its list. The entry of a device that a call once connected to stays if
  /// the kernel is looking for that device at the time.
  mutating func clearKernelList() {
    let reached = devices.values.filter { kernel.reached.contains($0.address) && $0.link == nil }
    kernel.clearList(but: Set(reached.map(\.target)))
  }

  /// The kernel has connected to a device.
  mutating func entryServed(_ path: ObjectPath) {
    guard let device = devices[path] else { return }
    kernel.lingering.remove(device.target)
    if device.pendingConnect != nil || device.pairCall != nil { kernel.reached.insert(device.address) }
  }

  /// The kernel tells a starting bluetoothd about existing links.
  mutating func takeOverOrphans() {
    for (identifier, orphan) in kernel.orphans.sorted(by: { $0.key < $1.key }) {
      let path = device(onAir: orphan.parameters.peerAddress) ?? makeDevice(orphan.parameters.peerAddress)
      guard devices[path]?.link == nil, devices[path]?.isBlocked != true else { continue }
      var link = Link(orphan.parameters, device: path)
      link.isOrphan = true
      link.isEncrypted = orphan.isEncrypted
      // The kernel has had the time to ask.
      link.isAttached = true
      links[identifier] = link
      devices[path]?.link = identifier
    }
  }

  /// A client asks for the device, so a process holds the link again.
  mutating func adopt(_ identifier: LinkIdentifier) {
    guard let link = links[identifier], link.isOrphan else { return }
    kernel.orphans[identifier] = nil
    links[identifier]?.isOrphan = false
    links[identifier]?.isHeld = devices[link.device]?.bond != nil && !link.isEncrypted
    attach(identifier)
    if links[identifier]?.isHeld == true { startEncryption(identifier) }
  }

  /// The orphaned link's two seconds are over.
  mutating func orphanTimedOut(_ identifier: LinkIdentifier) {
    kernel.orphans[identifier] = nil
    tell(.disconnect(configuration.controller, identifier, .remoteUserTerminated))
    orphanEnded(identifier, .localHostTerminated)
  }

  mutating func orphanEnded(_ identifier: LinkIdentifier, _ reason: DisconnectReason) {
    if isRunning {
      endLink(identifier, reason)
    } else if kernel.powered, !kernel.hasCentralLink {
      tellInitiator(kernel.armed)
    }
  }
}

extension Kernel {
  var hasCentralLink: Bool { orphans.values.contains { $0.parameters.role == .central } }

  /// A link that no process holds. The kernel ends it at the deadline.
  mutating func hold(_ parameters: LinkParameters, isEncrypted: Bool = false, until deadline: Instant) {
    orphans[parameters.link] = Orphan(parameters: parameters, isEncrypted: isEncrypted, deadline: deadline)
  }

  /// Empties the kernel's list.
  /// - Parameter reached: entries that stay if the kernel is looking for them.
  mutating func clearList(but reached: Set<InitiatorTarget>) {
    lingering = reached.intersection(powered ? armed?.targets ?? [] : [])
    armed = nil
  }
}
