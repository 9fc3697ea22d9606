/// What is below the operating system of a machine reached over ssh: its power and its radio.
protocol MachineHardware: AnyObject {
  var destination: SecureShell.Destination { get }

  /// Powers it on, and returns when it accepts connections.
  func powerOn() throws
  /// Returns when it no longer accepts connections. A clean shutdown is requested from the operating system over
  /// `shell`.
  func powerOff(clean: Bool, _ shell: SecureShell) throws
  var powerCut: Ability { get }

  /// What it can do about a fault, or `nil` if the operating system handles the fault.
  func ability(_ fault: MachineFault, _ shell: SecureShell) -> Ability?
  func perform(_ fault: MachineFault, _ shell: SecureShell) throws
  /// Throws if the machine has ended by itself.
  func check() throws
}
