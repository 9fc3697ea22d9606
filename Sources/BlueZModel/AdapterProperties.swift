import BlueZ
import BusValue

/// The properties of Adapter1 that clients may set. bluetoothd answers first, and reports the change afterwards. A value that
/// a property has already is no change (src/adapter.c, property_set_mode and property_set_mode_complete).
extension BlueZModel {
  /// Answers the call, unless the property can't be set.
  ///
  /// - Parameter assigned: the property that is set.
  /// - Returns: whether the call was answered.
  mutating func setAdapterProperty(
    _ assigned: PropertyValues<Adapter1>, for caller: PendingCall
  ) throws(PropertyError) -> Bool {
    if let isOn = try assigned.read(\.powered) {
      setPowered(isOn, for: caller)
    } else if let alias = try assigned.read(\.alias) {
      setAlias(alias, for: caller)
    } else if let isOn = try assigned.read(\.discoverable) {
      setDiscoverable(isOn, for: caller)
    } else if let seconds = try assigned.read(\.discoverableTimeoutSeconds) {
      reply(to: caller, .success(.none))
      adapter.setDiscoverableTimeout(seconds: seconds, at: now)
      storeSettings()
      changed(adapterPath, \Adapter1.discoverableTimeoutSeconds)
    } else if let isOn = try assigned.read(\.connectable) {
      reply(to: caller, .success(.none))
      setConnectable(isOn)
    } else if let isOn = try assigned.read(\.pairable) {
      reply(to: caller, .success(.none))
      setPairable(isOn)
    } else if let seconds = try assigned.read(\.pairableTimeoutSeconds) {
      reply(to: caller, .success(.none))
      adapter.setPairableTimeout(seconds: seconds, isPairable: kernel.isPairable, at: now)
      storeSettings()
      changed(adapterPath, \Adapter1.pairableTimeoutSeconds)
    } else {
      return false
    }
    return true
  }

  private mutating func setPowered(_ isOn: Bool, for caller: PendingCall) {
    if isOn == adapter.isPowered {
      reply(to: caller, .success(.none))
    } else if isOn, kernel.isBlocked {
      reply(to: caller, .failure(.failed("Failed")))
    } else if isOn {
      powerOn(for: caller)
    } else {
      switchOff(for: caller)
    }
  }

  /// A name is cut to what the controller has room for. If that cuts a character, it is refused (src/adapter.c, set_name).
  private mutating func setAlias(_ alias: String, for caller: PendingCall) {
    guard let name = String(validating: alias.utf8.prefix(247), as: UTF8.self) else {
      return reply(to: caller, .failure(.invalidArguments("Invalid arguments in method call")))
    }
    reply(to: caller, .success(.none))
    let new = name.isEmpty ? nil : name
    guard adapter.alias != new else { return }
    adapter.alias = new
    storeSettings()
    changed(adapterPath, \Adapter1.alias)
    refreshAdvertisements()
  }

  private mutating func setDiscoverable(_ isOn: Bool, for caller: PendingCall) {
    guard adapter.isPowered || adapter.discoverableTimeoutSeconds == 0 else {
      return reply(to: caller, .failure(.failed("Not Powered")))
    }
    reply(to: caller, .success(.none))
    adapter.isDiscoverableForDiscovery = false
    guard adapter.isDiscoverable != isOn else { return }
    adapter.setDiscoverable(isOn, at: now)
    storeSettings()
    changed(adapterPath, \Adapter1.discoverable, \.connectable)
    refreshAdvertisements()
  }

  /// Writes the settings to disk. A `Discoverable` that ends by itself is not kept (src/adapter.c, store_adapter_info).
  private mutating func storeSettings() {
    storage.alias = adapter.alias
    storage.discoverableTimeoutSeconds = adapter.discoverableTimeoutSeconds
    storage.pairableTimeoutSeconds = adapter.pairableTimeoutSeconds
    storage.isDiscoverable = adapter.isDiscoverable && adapter.discoverableTimeoutSeconds == 0
  }

  /// Makes the adapter discoverable that was so without an end when its settings were stored.
  mutating func restoreDiscoverable() {
    guard storage.isDiscoverable == true, adapter.discoverableTimeoutSeconds == 0 else { return }
    adapter.setDiscoverable(true, at: now)
    changed(adapterPath, \Adapter1.discoverable, \.connectable)
  }

  private mutating func setConnectable(_ isOn: Bool) {
    guard adapter.isConnectable != isOn else { return }
    // An adapter that is not connectable is not discoverable either.
    if !isOn, adapter.isDiscoverable {
      adapter.discoverableEnded()
      storeSettings()
      changed(adapterPath, \Adapter1.discoverable)
      refreshAdvertisements()
    }
    adapter.isConnectable = isOn
    changed(adapterPath, \Adapter1.connectable)
  }

  mutating func discoverableTimedOut() {
    adapter.discoverableEnded()
    changed(adapterPath, \Adapter1.discoverable, \.connectable)
    refreshAdvertisements()
  }

  /// Makes the adapter discoverable while a discovering client asks for it, and ends that when no client discovers any
  /// more (src/adapter.c, set_discovery_discoverable).
  mutating func refreshDiscoverable() {
    if discovery.wantsDiscoverable, !adapter.isDiscoverable {
      adapter.setDiscoverable(true, at: now)
      adapter.discoverableDeadline = nil
      adapter.isDiscoverableForDiscovery = true
    } else if discovery.sessions.isEmpty, adapter.isDiscoverableForDiscovery {
      adapter.discoverableEnded()
    } else {
      return
    }
    changed(adapterPath, \Adapter1.discoverable, \.connectable)
    refreshAdvertisements()
  }
}
