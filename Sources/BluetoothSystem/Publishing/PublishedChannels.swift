import AppLink
import BlueZ
import BluetoothTypes

/// The L2CAP channels that apps publish, and whether peers can open them. They live as long as the apps' processes: iOS
/// does not restore them either.
struct PublishedChannels: Sendable {
  struct Publication: Sendable {
    let manager: ManagerKey
    let requiresEncryption: Bool
    /// 0 until one is chosen.
    var psm: UInt16
    /// The app has been told its PSM.
    var isTold = false
    var step = Step.none
  }

  enum Step: Sendable, Hashable {
    case none
    case asked
    /// Peers can open channels.
    case listening
  }

  private var last: UInt64 = 0
  private(set) var all: [UInt64: Publication] = [:]

  /// In the order in which they were asked for.
  var numbers: [UInt64] { all.keys.sorted() }
  func numbers(of manager: ManagerKey) -> [UInt64] { numbers.filter { all[$0]?.manager == manager } }
  func number(of manager: ManagerKey, psm: UInt16) -> UInt64? {
    numbers(of: manager).first { all[$0]?.psm == psm }
  }

  mutating func add(_ publication: Publication) {
    last += 1
    all[last] = publication
  }

  subscript(number: UInt64) -> Publication? {
    get { all[number] }
    set { all[number] = newValue }
  }

  /// bluetoothd or its adapter is gone, and the channels' ends there with it.
  mutating func forgetAsked() { for number in all.keys { all[number]?.step = .none } }
}

extension BluetoothSystem {
  /// - Parameter psm: 0, or the one that the app had before latchkeyd came back.
  mutating func publishChannel(_ key: ManagerKey, _ psm: UInt16, _ requiresEncryption: Bool) {
    guard psm == 0 || ChannelLimits.psms.contains(psm) else {
      let error = PeerError.coreBluetooth(.invalidParameters, message: "A PSM is 1 to 255.")
      return tell(key, .channelPublished(psm: psm, error: error))
    }
    let count = publishedChannels.all.values.count { $0.manager.app == key.app }
    guard count < configuration.publishedChannelLimit else {
      let error = PeerError.limit("An app publishes at most \(configuration.publishedChannelLimit) L2CAP channels.")
      return tell(key, .channelPublished(psm: psm, error: error))
    }
    guard psm == 0 || publishedChannels.number(of: key, psm: psm) == nil else { return }
    publishedChannels.add(.init(manager: key, requiresEncryption: requiresEncryption, psm: psm))
  }

  /// - Parameter psm: 0 for all of them, which are not reported one by one.
  mutating func unpublishChannel(_ key: ManagerKey, _ psm: UInt16) {
    guard psm != 0 else { return removeChannels(of: key) }
    guard let number = publishedChannels.number(of: key, psm: psm) else {
      let error = PeerError.coreBluetooth(.invalidParameters, message: "The PSM \(psm) is not published.")
      return tell(key, .channelUnpublished(psm: psm, error: error))
    }
    remove(number)
    tell(key, .channelUnpublished(psm: psm, error: nil))
  }

  mutating func removeChannels(of key: ManagerKey) {
    for number in publishedChannels.numbers(of: key) { remove(number) }
  }

  private mutating func remove(_ number: UInt64) {
    guard let publication = publishedChannels[number] else { return }
    publishedChannels[number] = nil
    if publication.step == .listening { stopListening(publication.psm) }
  }

  private mutating func stopListening(_ psm: UInt16) {
    guard let adapter = bluez.adapter else { return }
    call(adapter, .stopListening(psm: psm), for: .ignored)
  }

  /// Has the machine listen for the channels of apps that may work now.
  mutating func reconcileChannels() {
    guard let adapter = bluez.adapter else { return }
    for number in publishedChannels.numbers {
      guard let publication = publishedChannels[number] else { continue }
      let isWanted = bluez.isPowered && mayWork(publication.manager)
      if isWanted, publication.step == .none {
        publishedChannels[number]?.step = .asked
        let request = BlueZ.Request.listenForChannels(
          psm: publication.psm, requiresEncryption: publication.requiresEncryption)
        call(adapter, request, for: .listenForChannels(number))
      } else if !isWanted, publication.step == .listening {
        publishedChannels[number]?.step = .none
        stopListening(publication.psm)
      }
    }
  }

  mutating func listening(_ number: UInt64, _ result: Result<Reply, BlueZError>) {
    switch result {
    case .success(.psm(let psm)):
      // Withdrawn in the meantime.
      guard let publication = publishedChannels[number] else { return stopListening(psm) }
      guard publication.step == .asked else { return }
      publishedChannels[number]?.step = .listening
      publishedChannels[number]?.psm = psm
      publishedChannels[number]?.isTold = true
      if !publication.isTold { tell(publication.manager, .channelPublished(psm: psm, error: nil)) }
      acceptNext(number, psm)
    case .success: listening(number, .failure(.failed("bluetoothd's answer makes no sense.")))
    case .failure(let error):
      guard let publication = publishedChannels[number], publication.step == .asked else { return }
      publishedChannels[number] = nil
      let reason = PeerError(channel: error)
      // An app that knows the PSM must learn that nobody can use it any more.
      let event: AppLink.Event.Body =
        publication.isTold
        ? .channelUnpublished(psm: publication.psm, error: reason)
        : .channelPublished(psm: publication.psm, error: reason)
      tell(publication.manager, event)
    }
  }

  private mutating func acceptNext(_ number: UInt64, _ psm: UInt16) {
    guard let adapter = bluez.adapter else { return }
    call(adapter, .acceptChannel(psm: psm), for: .acceptChannel(number))
  }

  mutating func channelAccepted(_ number: UInt64, _ result: Result<Reply, BlueZError>) {
    // If it was withdrawn in the meantime, the channel ends with its descriptor.
    guard let publication = publishedChannels[number], publication.step == .listening else { return }
    switch result {
    case .success(.creditChannel(let channel, let mtu, let path)):
      if let device = bluez.devices[path] {
        let central = centralSnapshot(device.peer)
        tell(publication.manager, .channelOpened(central, psm: publication.psm, channel, mtu: mtu))
      }
      acceptNext(number, publication.psm)
    case .success, .failure:
      publishedChannels[number] = nil
      let error: PeerError =
        if case .failure(let error) = result {
          PeerError(channel: error)
        } else {
          .coreBluetooth(.unknown, message: "bluetoothd's answer makes no sense.")
        }
      tell(publication.manager, .channelUnpublished(psm: publication.psm, error: error))
    }
  }
}
