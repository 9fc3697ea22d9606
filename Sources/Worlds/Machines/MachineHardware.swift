/// What is below the operating system of a machine that is reached over ssh: its power and its radio.
protocol MachineHardware: AnyObject {
  var destination: SecureShell.Destination { get }

  /// Powers it on, and returns when it can be connected to.
  func powerOn() throws
  /// Returns when it can't be connected to any more. A clean one is asked of the operating system, over `shell`.
  func powerOff(clean: Bool, _ shell: SecureShell) throws
  var powerCut: Ability { get }

  /// What it can do of a fault; `nil` where that is the operating system's business.
  func ability(_ fault: MachineFault, _ shell: SecureShell) -> Ability?
  func perform(_ fault: MachineFault, _ shell: SecureShell) throws
  /// Throws where it has ended by itself.
  func check() throws
}
