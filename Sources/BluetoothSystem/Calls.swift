import AppLink
import BlueZ
import BluetoothTypes
import BusValue

/// The purpose of a call to bluetoothd.
enum PendingCall: Sendable, Hashable {
  case ignored
  case connect(PeerIdentifier)
  case disconnect(PeerIdentifier)
  case registerProfile(root: ObjectPath)
  case unregisterProfile
  case setFilter
  case startDiscovery
  case stopDiscovery
  case registerAgent
  case pair(AnswerToken)
  case requestDefaultAgent
  /// The operation at the head of this peripheral's queue.
  case operation(PeerIdentifier)
  /// A read that nobody waits for any more.
  case abandonedRead(ObjectPath)
  /// Answers every request that was waiting when the call was made.
  case rssi(PeerIdentifier)
  /// Asks whether the controller has the link.
  case probe(PeerIdentifier)
  /// Asks how near a central is whose link has just come up.
  case signalOfNewLink(PeerIdentifier)
  /// Asks what the peer's link carries.
  case mtu(PeerIdentifier)
  /// Reads bluetoothd's view of one device or, below, of all objects.
  case reread(ObjectPath)
  case rereadAll
  /// Looks for an adapter in place of the one that is gone.
  case otherAdapter
  case startNotify(ObjectPath)
  case renewNotify(ObjectPath)
  case stopNotify(ObjectPath)
  case registerService(LocalAttributeIdentifier, root: ObjectPath)
  case registerAdvertisement(ManagerKey, path: ObjectPath)
  case registerMark(root: ObjectPath)
  case openChannel(ChannelOpening)
  /// For the publication with this number.
  case listenForChannels(UInt64)
  case acceptChannel(UInt64)
}

extension BluetoothSystem {
  mutating func call(_ path: ObjectPath, _ request: BlueZ.Request, for pending: PendingCall) {
    guard bluez.isPresent else { return }
    emit(.bluez(.call(calls.add(pending), path: path, request)))
  }

  mutating func completed(_ pending: PendingCall, _ result: Result<Reply, BlueZError>) {
    switch pending {
    case .ignored: break
    case .connect(let peer): connectCompleted(peer, result)
    case .disconnect(let peer): disconnectCompleted(peer, result)
    case .registerProfile(let root): profileRegistered(root, result)
    case .unregisterProfile: profile.unregistered()
    case .setFilter: filterSet(result)
    case .startDiscovery: discoveryStarted(result)
    case .stopDiscovery: discovery.stopped()
    case .registerAgent: agentRegistered(result)
    case .requestDefaultAgent: break
    case .pair(let token): paired(token, result)
    case .operation(let peer): operationCompleted(peer, result)
    case .abandonedRead(let path): abandonedReadCompleted(path, result)
    case .rssi(let peer): signalRead(peer, result)
    case .probe(let peer): probed(peer, result)
    case .signalOfNewLink(let peer): signalOfNewLinkRead(peer, result)
    case .mtu(let peer): mtuRead(peer, result)
    case .reread(let path): reread(path, result)
    case .rereadAll: rereadAll(result)
    case .otherAdapter: adoptOtherAdapter(result)
    case .startNotify(let path): notifyStarted(path, result)
    case .renewNotify(let path): notifyRenewed(path, result)
    case .stopNotify(let path): sessions.hasEnded(path)
    case .registerService(_, let root): serviceRegistered(root, result)
    case .registerAdvertisement(let key, let path): advertisementRegistered(key, path, result)
    case .registerMark(let root): markRegistered(root, result)
    case .openChannel(let opening): channelReady(opening, result)
    case .listenForChannels(let number): listening(number, result)
    case .acceptChannel(let number): channelAccepted(number, result)
    }
  }
}
