/// What a person wants to know about a world at a glance.
package struct WorldSurvey: Sendable, Hashable, Codable {
  package struct Machine: Sendable, Hashable, Codable {
    package var name: String
    /// In metres.
    package var x: Double
    package var y: Double
    package var isShielded: Bool
    /// Whether its bluetoothd is running.
    package var isRunning: Bool
    /// Its controller's own address.
    package var address: String
  }

  package struct Link: Sendable, Hashable, Codable {
    /// The number that events use for the link.
    package var link: UInt64
    package var central: String
    package var peripheral: String
  }

  package var machines: [Machine]
  package var links: [Link]
}
