import AppLink
import HashTreeCollections
import TimeTypes

/// The apps, by name. The table finds the apps about which something may have to be decided without looking at the
/// others: apps that are awake, apps that have changed, and apps whose time has come.
struct AppTable: Sendable, Sequence {
  // A tree: while a turn may have to be undone, a change copies a few nodes and not all apps.
  private var all: TreeDictionary<String, App> = [:]
  /// Changed since they were last looked at.
  private var touched: Set<String> = []
  /// How many apps were looked at so far.
  private(set) var examined = 0
  // What the apps were when they were last looked at.
  /// Apps in the foreground or in the background. They are looked at in every turn, because more than their own state
  /// decides about them.
  private var awake: Set<String> = []
  /// When something is due about an app that is not awake.
  private var alarms: [String: Instant] = [:]
  private var links: [AppLinkIdentifier: String] = [:]

  var count: Int { all.count }
  var values: some Collection<App> { all.values }
  func makeIterator() -> TreeDictionary<String, App>.Iterator { all.makeIterator() }

  subscript(name: String) -> App? {
    get { all[name] }
    _modify {
      defer { touched.insert(name) }
      yield &all[name]
    }
  }

  /// The app that is attached by this link.
  func name(of link: AppLinkIdentifier) -> String? {
    if let name = links[link], all[name]?.link == link { return name }
    return all.first { $0.value.link == link }?.key
  }

  /// The apps that may have to do something now, in order. They count as looked at.
  mutating func takeOpen(at now: Instant) -> [String] {
    var open = awake.union(touched)
    touched.removeAll()
    for (name, alarm) in alarms where alarm <= now { open.insert(name) }
    examined += open.count
    return open.sorted()
  }

  /// Whether the app would be looked at now.
  func isOpen(_ name: String, at now: Instant) -> Bool {
    awake.contains(name) || touched.contains(name) || alarms[name].map { $0 <= now } ?? false
  }

  /// These apps were looked at: what is due about them next is known.
  mutating func lookedAt(_ names: [String], at now: Instant, _ configuration: BluetoothSystem.Configuration) {
    for name in names + touched { note(name, at: now, configuration) }
  }

  private mutating func note(_ name: String, at now: Instant, _ configuration: BluetoothSystem.Configuration) {
    guard let app = all[name] else { return }
    if let link = app.link, links[link] != name {
      links = links.filter { $0.value != name }
      links[link] = name
    }
    if app.state == .foreground || app.state == .background {
      awake.insert(name)
      alarms[name] = nil
      return
    }
    awake.remove(name)
    var earliest = Earliest()
    earliest.consider(app.deadline(after: now, configuration))
    earliest.consider(app.actions.deadline)
    if earliest.instant != alarms[name] { alarms[name] = earliest.instant }
  }

  /// When something is due next about an app that is not awake.
  var alarm: Instant? { alarms.values.min() }
  /// The apps that are awake.
  var awakeApps: [App] { awake.compactMap { all[$0] } }
}
