import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import TimeTypes

extension BluetoothSystem {
  /// bluetoothd calls one of our objects. Every call is answered soon: a request that is still open when the link
  /// drops can crash bluetoothd.
  mutating func receive(_ callback: Callback, _ path: ObjectPath, _ identifier: CallbackIdentifier) {
    switch callback {
    case .readValue(let request): readRequested(path, request, identifier)
    case .writeValue(let value, let request): writeRequested(path, value, request, identifier)
    case .startNotify:
      startNotify(path)
      answer(identifier, .success(.none))
    case .stopNotify:
      stopNotify(path)
      answer(identifier, .success(.none))
    case .confirm, .assignHandle: answer(identifier, .success(.none))
    // None of our objects claims to offer sockets or to be a monitor.
    case .acquireNotify, .acquireWrite, .monitor: answer(identifier, .failure(.notSupported))
    case .release(let interface):
      released(path, interface)
      answer(identifier, .success(.none))
    case .cancel:
      cancelQuestions()
      answer(identifier, .success(.none))
    case .displayPasskey(let device, let passkey, _):
      show(passkey, device)
      answer(identifier, .success(.none))
    case .requestPinCode: answer(identifier, .failure(.rejected))
    case .requestPasskey(let device): ask(.enter, device, 0, identifier)
    case .requestConfirmation(let device, let passkey): ask(.compare, device, passkey, identifier)
    case .requestAuthorization(let device): ask(.authorize, device, 0, identifier)
    case .authorizeService(let device, _):
      answer(identifier, mayPair(device) ? .success(.none) : .failure(.rejected))
    }
  }

  mutating func answer(_ identifier: CallbackIdentifier, _ result: Result<CallbackReply, BlueZError>) {
    emit(.bluez(.answer(identifier, result)))
  }

  private func publishedCharacteristic(_ path: ObjectPath)
    -> (manager: ManagerKey, definition: CharacteristicDefinition)?
  {
    guard let place = publishing.characteristic(at: path),
      let definition = managers[place.manager]?.services[place.service]?.definition.characteristics
        .first(where: { $0.identifier == place.characteristic })
    else { return nil }
    return (place.manager, definition)
  }

  private mutating func readRequested(_ path: ObjectPath, _ request: RemoteRequest, _ callback: CallbackIdentifier) {
    visitShowsLife(request.device)
    if let value = publishing.constant(at: path) {
      answer(callback, Self.part(of: value, from: Int(request.offset)))
      return
    }
    guard let (key, definition) = publishedCharacteristic(path) else {
      answer(callback, .failure(.doesNotExist))
      return
    }
    if let value = definition.value {
      answer(callback, Self.part(of: value, from: Int(request.offset)))
      return
    }
    guard definition.permissions.contains(.readable) || definition.permissions.contains(.readEncryptionRequired) else {
      answer(callback, .failure(.notPermitted("Read not permitted")))
      return
    }
    requestShowsSubscriber(path, request.device)
    guard let (central, open) = openRequest(key, request, callback, isRead: true) else { return }
    tell(
      key,
      .readRequested(open, central, definition.identifier, offset: Int(request.offset)))
  }

  private mutating func writeRequested(
    _ path: ObjectPath, _ value: [UInt8], _ request: RemoteRequest, _ callback: CallbackIdentifier
  ) {
    visitShowsLife(request.device)
    guard let (key, definition) = publishedCharacteristic(path) else {
      answer(callback, .failure(.doesNotExist))
      return
    }
    guard value.count <= ATTLimits.maximumValueLength else {
      answer(callback, .failure(BlueZError(.invalidValueLength, "Too long")))
      return
    }
    let isCommand = request.kind == .command
    guard definition.permissions.contains(.writeable) || definition.permissions.contains(.writeEncryptionRequired),
      !isCommand || definition.properties.contains(.writeWithoutResponse)
    else {
      answer(callback, .failure(.notPermitted("Write not permitted")))
      return
    }
    // bluetoothd does not say whether a write is a command. It waits for no answer where commands are allowed (seen on
    // 5.82), so there is nothing to keep open for an app that rightly answers nothing.
    let withResponse = !definition.properties.contains(.writeWithoutResponse)
    // What has no answer can't be held back. What its app can't take is lost, as it would be on the air.
    if !withResponse, waitingCommands(key.app) >= configuration.remoteCommandLimit {
      noteLost(key.app, "writeRequested")
      answer(callback, .failure(Self.error(.unlikelyError)))
      return
    }
    requestShowsSubscriber(path, request.device)
    guard let (central, open) = openRequest(key, request, callback, isRead: false) else { return }
    tell(
      key,
      .writeRequested(
        open, central, definition.identifier, offset: Int(request.offset), value: value,
        withResponse: withResponse))
    if !withResponse {
      _ = remoteRequests.take(open, of: key.app)
      answer(callback, .success(.none))
    }
  }

  private func waitingCommands(_ name: String) -> Int {
    (apps[name]?.queue ?? []).count { waiting in
      if case .writeRequested(_, _, _, _, _, false) = waiting.body { true } else { false }
    }
  }

  /// Opens a request for an app. If the app can't be told (F3) or too many requests wait, answers in the app's place.
  private mutating func openRequest(
    _ key: ManagerKey, _ request: RemoteRequest, _ callback: CallbackIdentifier, isRead: Bool
  ) -> (CentralSnapshot, RemoteRequestIdentifier)? {
    guard mayWork(key), let device = bluez.devices[request.device],
      remoteRequests.count < configuration.remoteRequestLimit,
      remoteRequests.count(of: key.app) < configuration.appRemoteRequestLimit
    else {
      answer(callback, .failure(Self.error(.unlikelyError)))
      return nil
    }
    // A stranger that passes by is not stored.
    if device.isBonded { _ = keepPeer(device.peer, wasRequested: false) }
    let identifier = remoteRequests.add(
      OpenRemoteRequest(
        callback: callback, manager: key, central: device.peer, isRead: isRead,
        deadline: now + configuration.remoteRequestBudget))
    bluez.devices[request.device]?.linkShows(mtu: Int(request.mtu))
    return (centralSnapshot(device.peer), identifier)
  }

  mutating func respond(
    _ identifier: RemoteRequestIdentifier, _ error: ATTError?, _ value: [UInt8]?, app name: String
  ) {
    guard let request = remoteRequests.take(identifier, of: name) else { return }
    if let error {
      answer(request.callback, .failure(Self.error(error)))
    } else if request.isRead {
      // As in Core Bluetooth, the app has already answered with the part from the offset on.
      answer(request.callback, .success(.bytes(Array((value ?? []).prefix(ATTLimits.maximumValueLength)))))
    } else {
      answer(request.callback, .success(.none))
    }
  }

  mutating func expireRemoteRequests() {
    let now = now
    for (identifier, request) in remoteRequests.take(where: { $1.deadline <= now }) {
      answer(request.callback, .failure(Self.error(.unlikelyError)))
      withdraw(identifier, request.manager)
      journal(.requestExpired, [.app: request.manager.app])
    }
  }

  /// The central is gone, and its requests with it. bluetoothd 5.82 ignores this answer and crashes when its own five
  /// seconds are over; only an answer before the loss of the link prevents that. Later versions may make use of it.
  mutating func failRemoteRequests(from central: PeerIdentifier) {
    for (identifier, request) in remoteRequests.take(where: { $1.central == central }) {
      answer(request.callback, .failure(Self.error(.unlikelyError)))
      withdraw(identifier, request.manager)
      journal(.requestAbandoned, [.app: request.manager.app])
    }
  }

  /// bluetoothd is gone, so no answer is awaited.
  mutating func expireAllRemoteRequests() {
    for (identifier, request) in remoteRequests.take(where: { _, _ in true }) {
      withdraw(identifier, request.manager)
    }
  }

  /// A process that has ended can't answer. A request that it was never sent can still be answered by its successor.
  mutating func failRemoteRequests(ofApp name: String) {
    let waiting = Set(
      (apps[name]?.queue ?? []).compactMap { waiting -> RemoteRequestIdentifier? in
        switch waiting.body {
        case .readRequested(let identifier, _, _, _), .writeRequested(let identifier, _, _, _, _, _):
          managers[waiting.manager]?.key.restoreIdentifier == nil ? nil : identifier
        default: nil
        }
      })
    let lost = remoteRequests.take { $1.manager.app == name && !waiting.contains($0) }
    for (_, request) in lost {
      answer(request.callback, .failure(Self.error(.unlikelyError)))
    }
  }

  /// An app that has not been told of a request yet is not told at all. Otherwise it is told that the request is
  /// over.
  private mutating func withdraw(_ identifier: RemoteRequestIdentifier, _ key: ManagerKey) {
    guard var app = apps[key.app] else { return }
    let before = app.queue.count
    app.queue.removeAll { waiting in
      switch waiting.body {
      case .readRequested(identifier, _, _, _), .writeRequested(identifier, _, _, _, _, _): true
      default: false
      }
    }
    let wasWaiting = app.queue.count < before
    apps[key.app] = app
    if !wasWaiting { tell(key, .requestExpired(identifier)) }
  }

  private static func part(of value: [UInt8], from offset: Int) -> Result<CallbackReply, BlueZError> {
    guard offset <= value.count else { return .failure(error(.invalidOffset)) }
    return .success(.bytes(Array(value[offset...])))
  }

  /// How an application tells bluetoothd an ATT error (src/gatt-database.c).
  static func error(_ error: ATTError) -> BlueZError {
    switch error {
    case .requestNotSupported: .notSupported
    case .insufficientAuthorization: .notAuthorized
    case .readNotPermitted, .writeNotPermitted: .notPermitted("Not permitted")
    case .invalidOffset: BlueZError(.invalidOffset, "Invalid offset")
    case .invalidAttributeValueLength:
      BlueZError(.invalidValueLength, "Invalid length")
    // Only application error codes can be passed on. For any other, bluetoothd sends "unlikely error".
    case _ where error.rawValue >= 0x80: .failed("0x" + String(error.rawValue, radix: 16))
    default: .rejected
    }
  }
}
