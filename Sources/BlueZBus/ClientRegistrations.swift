import BlueZ
import BusValue
import Glibc
import Logging
import SystemBus
import TimeTypes
import Timekeeping

/// What clients register with bluetoothd: their objects are fetched before it answers.
extension BlueZServerSession {
  /// Whether this call withdraws a registration whose objects are still being fetched. For bluetoothd the
  /// registration exists from its call on.
  func withdraws(_ request: Request, _ call: IncomingCall) -> Bool {
    switch request {
    case .unregisterApplication, .unregisterAdvertisement, .unregisterMonitor:
      Registration(request, with: call.path).map { withdrawFetch(of: $0, call.sender) } ?? false
    default: false
    }
  }

  func fetchApplication(_ call: IncomingCall, _ root: ObjectPath) throws(BusError) {
    let client = call.sender
    let registration = Registration(kind: .application, adapter: call.path, path: root)
    guard let known = clients[client], known.applications[registration] == nil, known.fetching[registration] == nil
    else { throw BusError(.alreadyExists) }
    guard known.applications.count < Self.registrationLimit else {
      throw BusError(name: BusError.Name.limitsExceeded, message: "too many applications")
    }
    listen(to: client, .changes(of: client))
    listen(to: client, .arrivals(of: client))
    // BlueZ's own words for it (src/gatt-database.c).
    let error = BlueZError.failed("No object received")
    fetchObjects(call, registration, .objects(of: client, root), else: error) { session, values in
      // An object need not be below the root (src/gatt-database.c, proxy_added_cb).
      guard let objects = ObjectCoding.objects(values?.first) else { return session.refuse(call, error) }
      guard objects.count <= Self.objectLimit else {
        return session.refuse(call, .failed("Failed to create entry in database"))
      }
      session.clients[client]?.applications[registration] = objects
      session.deliver(call, .registerApplication(root: root, objects: objects))
    }
  }

  func fetchAdvertisement(_ call: IncomingCall, _ path: ObjectPath) throws(BusError) {
    let client = call.sender
    let registration = Registration(kind: .advertisement, adapter: call.path, path: path)
    // An advertisement that is registered already is refused before its properties are fetched.
    guard let known = clients[client], known.fetching[registration] == nil,
      !known.advertisements.contains(registration) || known.released.contains(registration)
    else { throw BusError(.alreadyExists) }
    listen(to: client, .changes(of: client))
    let error = BlueZError.failed("Failed to parse advertisement.")
    fetchObjects(call, registration, .advertisement(of: client, path), else: error) { session, values in
      // An object that does not tell its properties is advertised without any (gdbus/client.c,
      // get_all_properties_reply).
      let properties = values?.first?.propertiesValue ?? [:]
      session.deliver(call, .registerAdvertisement(path: path, properties: properties))
    }
  }

  /// A client that does not describe its objects is accepted all the same, and has no monitors yet
  /// (src/adv_monitor.c, app_ready_cb).
  func fetchMonitors(_ call: IncomingCall, _ root: ObjectPath) throws(BusError) {
    let client = call.sender
    let registration = Registration(kind: .monitors, adapter: call.path, path: root)
    guard let known = clients[client], !known.monitors.contains(registration), known.fetching[registration] == nil
    else { throw BusError(.alreadyExists) }
    guard known.monitors.count < Self.registrationLimit else {
      throw BusError(name: BusError.Name.limitsExceeded, message: "too many roots of monitors")
    }
    listen(to: client, .arrivals(of: client))
    fetchObjects(
      call, registration, .objects(of: client, root), else: .failed("Adv Monitor app destroyed")
    ) { session, values in
      let objects = (ObjectCoding.objects(values?.first) ?? [:]).filter { $0.key.isWithin(root) }
      session.clients[client]?.monitors.insert(registration)
      session.deliver(call, .registerMonitor(root: root, objects: objects))
    }
  }

  func admitBatteries(of client: String) throws(BusError) {
    guard let known = clients[client], known.batteries.count < Self.registrationLimit else {
      throw BusError(name: BusError.Name.limitsExceeded, message: "too many battery providers")
    }
    listen(to: client, .changes(of: client))
    listen(to: client, .arrivals(of: client))
  }

  /// bluetoothd answers a battery provider before it fetches the provider's objects. A provider that does not describe
  /// any may still add some later (src/battery.c).
  func fetchBatteries(_ registration: Registration, of client: String) {
    bus.assumeIsolated { bus in
      bus.call(.objects(of: client, registration.path)) { result in
        self.inTurn(of: client) { session in
          guard session.clients[client]?.batteries.contains(registration) == true,
            let objects = ObjectCoding.objects((try? result.get())?.first)
          else { return }
          for (path, interfaces) in objects.sorted(by: { $0.key < $1.key }) {
            guard let properties = interfaces[InterfaceName.batteryProvider] else { continue }
            session.deliver(
              .message(from: client, .batteryAdded(root: registration.path, path: path, properties)))
          }
        }
      }
    }
  }

  /// Listens to a client's signals that match the rule, from now on.
  private func listen(to client: String, _ rule: MatchRule) {
    guard clients[client]?.matches.insert(rule).inserted == true else { return }
    bus.assumeIsolated { $0.addMatch(rule) }
  }

  /// Asks a client for the objects that it registers. The result is `nil` if the client does not know them or takes
  /// too long. If the client withdraws the registration in the meantime, it is refused.
  private func fetchObjects(
    _ call: IncomingCall, _ registration: Registration, _ fetch: MethodCall, else error: BlueZError,
    _ then: @escaping @Sendable (isolated BlueZServerSession, [Value]?) -> Void
  ) {
    let client = call.sender
    lastFetch += 1
    let number = lastFetch
    let alarm = time.map { time in
      let alarm = time.makeAlarm { [weak self, bus] in
        bus.enqueue { [weak self] _ in
          self?.assumeIsolated { $0.endFetch(number, of: registration, client, with: nil, then) }
        }
      }
      alarm.set(time.now + Self.fetchLimit)
      return alarm
    }
    clients[client]?.fetching[registration] = Fetch(number: number, call: call, error: error, alarm: alarm)
    bus.assumeIsolated { bus in
      bus.call(fetch) { result in
        self.inTurn(of: client) { $0.endFetch(number, of: registration, client, with: try? result.get(), then) }
      }
    }
  }

  private func endFetch(
    _ number: UInt64, of registration: Registration, _ client: String, with values: [Value]?,
    _ then: (isolated BlueZServerSession, [Value]?) -> Void
  ) {
    guard clients[client]?.fetching[registration]?.number == number else { return }
    removeFetch(of: registration, client)
    then(self, values)
  }

  @discardableResult
  private func removeFetch(of registration: Registration, _ client: String) -> Fetch? {
    let fetch = clients[client]?.fetching.removeValue(forKey: registration)
    fetch?.alarm?.set(nil)
    return fetch
  }

  /// Returns whether there was a fetch to withdraw.
  private func withdrawFetch(of registration: Registration, _ client: String) -> Bool {
    guard let fetch = removeFetch(of: registration, client) else { return false }
    refuse(fetch.call, fetch.error)
    return true
  }

  private func refuse(_ call: IncomingCall, _ error: BlueZError) {
    bus.assumeIsolated { $0.reply(to: call, with: .failure(BusError(error))) }
  }
}
