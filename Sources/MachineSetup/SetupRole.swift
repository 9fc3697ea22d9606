/// The side of a door that a machine is set up as.
package enum SetupRole: String, Sendable, CaseIterable {
  case lock, phone

  /// The app's bundle identifier.
  package var app: String { self == .lock ? "org.latchkey.lock" : "org.latchkey.agent" }
  /// The Debian package that contains the app.
  package var package: String { self == .lock ? "latchkey-lock" : "latchkey-agent" }
  /// The unit that runs it.
  package var unit: String { package + ".service" }
  /// The folder of its keys, from which its unit loads its credential (config/systemd).
  package var keyFolder: String { self == .lock ? "/etc/latchkey/lock" : "/etc/latchkey/agent" }
  /// The file that declares it to latchkeyd.
  package var declaration: String { "/usr/share/latchkey/apps/\(app)/Info.plist" }
  /// Where the agent keeps the keys of the doors at which it was enrolled, or to which it was invited.
  package static var doorFolder: String { "/var/lib/latchkey-agent/doors" }
  var other: SetupRole { self == .lock ? .phone : .lock }
}
