extension Radio {
  /// The position of a controller, and whether it is shielded. `nil` if there is no controller of that name.
  package func place(of controller: ControllerIdentifier) -> (position: Position, isShielded: Bool)? {
    guard let known = controllers[controller], let position = position(of: controller) else { return nil }
    return (position, known.isShielded)
  }
}
