/// What a person wants to know of a world at a glance.
public struct WorldSurvey: Sendable, Hashable, Codable {
  public struct Machine: Sendable, Hashable, Codable {
    public var name: String
    /// In metres.
    public var x: Double
    public var y: Double
    public var isShielded: Bool
    /// Whether its bluetoothd runs.
    public var isRunning: Bool
    /// Its controller's own.
    public var address: String
  }

  public struct Link: Sendable, Hashable, Codable {
    /// As events name it.
    public var link: UInt64
    public var central: String
    public var peripheral: String
  }

  public var machines: [Machine]
  public var links: [Link]
}
