import CoreBluetooth
import Foundation
import LockProtocol

/// What is asked of the lock after an answer, and its replies.
extension AgentCentral {
  /// Subscribes to replies. They are needed so seldom that an arrival does not subscribe to them.
  /// `AgentApp.listensToReplies` follows.
  func listenToReplies() {
    guard let peripheral, peripheral.state == .connected else {
      return DispatchQueue.main.async { self.app.listensToReplies(self.app.noLink) }
    }
    guard known.request != nil, let reply = known.reply else {
      // The characteristics may have been discovered by an earlier version of this program, or on an earlier version of
      // the lock.
      guard !wantsReplies, let service = LockCharacteristics.service(of: peripheral) else {
        wantsReplies = false
        return DispatchQueue.main.async { self.app.listensToReplies(.olderLock) }
      }
      wantsReplies = true
      return peripheral.discoverCharacteristics(
        [LockCharacteristics.requestUUID, LockCharacteristics.replyUUID], for: service)
    }
    wantsReplies = false
    guard !reply.isNotifying else { return DispatchQueue.main.async { self.app.listensToReplies(nil) } }
    peripheral.setNotifyValue(true, for: reply)
  }

  func write(request message: [UInt8], tag: UInt8) {
    guard let peripheral, let request = known.request, peripheral.state == .connected else {
      return DispatchQueue.main.async { self.app.requestFailed() }
    }
    let room = peripheral.maximumWriteValueLength(for: .withoutResponse)
    for fragment in Fragments.cut(message, tag: tag, valueByteCount: room) {
      peripheral.writeValue(Data(fragment), for: request, type: .withResponse)
    }
  }
}
