import Glibc

/// What the processes of a simulated world draw in place of chance, so that one seed tells one story.
package enum WorldSeed {
  /// The variable with the world's seed. It counts only in a world.
  package static let variable = "LATCHKEY_SEED"
  private static let machineVariable = "LATCHKEY_MACHINE"

  /// A number for the present machine of the present world; `nil` outside a world, where the kernel's random numbers
  /// must be used. Never for secrets.
  package static func ofThisMachine() -> UInt64? {
    guard let clock = getenv(ProcessClock.variable), clock.pointee != 0, let text = getenv(variable),
      let seed = UInt64(String(cString: text))
    else { return nil }
    let machine = getenv(machineVariable).map { String(cString: $0) } ?? ""
    // FNV-1a. Machines of one world draw different numbers.
    return machine.utf8.reduce(seed ^ 0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}
