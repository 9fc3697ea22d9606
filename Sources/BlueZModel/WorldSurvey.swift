/// What a person wants to know about a world at a glance.
public struct WorldSurvey: Sendable, Hashable, Codable {
  public struct Machine: Sendable, Hashable, Codable {
    public var name: String
    /// In metres.
    public var x: Double
    public var y: Double
    public var isShielded: Bool
    /// Whether its bluetoothd is running.
    public var isRunning: Bool
    /// Its controller's own address.
    public var address: String
  }

  public struct Link: Sendable, Hashable, Codable {
    /// The number that events use for the link.
    public var link: UInt64
    public var central: String
    public var peripheral: String
  }

  public var machines: [Machine]
  public var links: [Link]
}
