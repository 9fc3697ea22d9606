/// An enrolment at a lock within range, by the code that is printed on it.
package struct EnrollQuestion: Codable, Equatable, Sendable {
  /// Secret.
  package var code: String
  /// What the door is to be called here. Without it, it is called as the lock calls itself.
  package var name: String?

  package init(code: String, name: String?) {
    self.code = code
    self.name = name
  }
}

package struct EnrollAnswer: Codable, Equatable, Sendable {
  /// `enrolled`; `closed` if no lock within range enrols phones now; `lockedOut` if one was tried with wrong codes too often;
  /// `noLock` if none was found.
  package var outcome: String
  /// The door's name here.
  package var door: String?
  /// What the lock calls itself.
  package var lock: String?
  /// Owners' phones of this phone's name and with another key: this phone before it was set up anew, perhaps. Missing if there are none,
  /// or the lock has not told.
  package var namesakes: [OwnerAnswer]?

  package init(outcome: String, door: String?, lock: String?) {
    self.outcome = outcome
    self.door = door
    self.lock = lock
  }
}

/// A phone that opens a door as an owner.
package struct OwnerAnswer: Codable, Equatable, Sendable {
  /// What its owner calls it; empty if the lock knows no name.
  package var name: String
  /// The phone's public key, in hexadecimal.
  package var key: String
  package var isThisPhone: Bool

  package init(name: String, key: String, isThisPhone: Bool) {
    self.name = name
    self.key = key
    self.isThisPhone = isThisPhone
  }
}

package struct OwnersAnswer: Codable, Equatable, Sendable {
  package var door: String
  package var owners: [OwnerAnswer]

  package init(door: String, owners: [OwnerAnswer]) {
    self.door = door
    self.owners = owners
  }
}
