extension Radio {
  /// Where a controller is, and whether it is shielded; `nil` where there is none of that name.
  public func place(of controller: ControllerIdentifier) -> (position: Position, isShielded: Bool)? {
    guard let known = controllers[controller], let position = position(of: controller) else { return nil }
    return (position, known.isShielded)
  }
}
