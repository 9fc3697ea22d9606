/// How strong a door's lock is in the room in which the phone is now.
package struct RoomQuestion: Codable, Equatable, Sendable {
  /// What is wanted.
  package enum Wish: String, Codable, Sendable, CaseIterable {
    /// Measure this room.
    case measure
    /// Forget the rooms that were measured.
    case forget
    /// Tell what was measured before.
    case show
  }

  package var door: String?
  /// A `Wish`.
  package var wish: String

  package init(door: String?, wish: Wish) {
    self.door = door
    self.wish = wish.rawValue
  }
}

/// The rooms of a home, as far as a door's lock is heard in them. Signals are in dBm.
package struct RoomAnswer: Codable, Equatable, Sendable {
  package var door: String
  /// In this room, if it was measured.
  package var signal: Int?
  /// In the weakest room that was measured, or nothing if none was.
  package var weakest: Int?
  /// A link that comes up stronger than this is not taken for the beginning of an arrival.
  package var limit: Int

  package init(door: String, signal: Int?, weakest: Int?, limit: Int) {
    self.door = door
    self.signal = signal
    self.weakest = weakest
    self.limit = limit
  }
}
