import AppLink
import BluetoothTypes
import Foundation

// What a peripheral manager is told of its L2CAP channels. Everything here runs on the manager's queue.
extension CBPeripheralManager {
  func channelPublished(_ psm: UInt16, _ error: PeerError?) {
    enum News { case published, lost, none }
    let news: News = locked {
      if let known = publishedChannels.firstIndex(where: { $0.psm == psm && psm != 0 }) {
        // The system came back. It publishes the channel again, or can't, because something else has the PSM now.
        guard error != nil else { return .none }
        publishedChannels.remove(at: known)
        return .lost
      }
      // Dropped by the app, or ended with the radio, in the meantime.
      guard let index = publishedChannels.firstIndex(where: { $0.psm == 0 }) else { return .none }
      if error == nil { publishedChannels[index].psm = psm } else { publishedChannels.remove(at: index) }
      return .published
    }
    switch news {
    case .published:
      let appError = error?.appError
      tells("didPublishL2CAPChannel", error: appError)
      delegate?.peripheralManager(self, didPublishL2CAPChannel: psm, error: appError)
    case .lost: tellUnpublished(psm, error?.appError)
    case .none: break
    }
  }

  /// The system could not keep a channel. The app's own request is answered without this event.
  func channelUnpublished(_ psm: UInt16, _ error: PeerError?) {
    let isNews = locked {
      let count = publishedChannels.count
      publishedChannels.removeAll { $0.psm == psm && psm != 0 }
      return publishedChannels.count < count
    }
    if isNews { tellUnpublished(psm, error?.appError) }
  }

  func tellUnpublished(_ psm: UInt16, _ error: (any Error)?) {
    tells("didUnpublishL2CAPChannel", error: error)
    delegate?.peripheralManager(self, didUnpublishL2CAPChannel: psm, error: error)
  }

  func channelOpened(_ snapshot: CentralSnapshot, _ psm: UInt16, _ socket: ChannelDescriptor, _ mtu: UInt16) {
    let central: CBCentral? = locked {
      // If the app has unpublished the PSM in the meantime, the channel ends when its socket is released.
      publishedChannels.contains { $0.psm == psm } ? self.central(snapshot) : nil
    }
    guard let central else { return }
    let channel = CBL2CAPChannel(
      peer: central, psm: psm, socket: socket, mtu: mtu, queue: queue, delivery: delivery, session: session)
    tells("didOpen", central)
    delegate?.peripheralManager(self, didOpen: channel, error: nil)
  }
}
