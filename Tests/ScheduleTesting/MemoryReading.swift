import BlueZ
import BlueZModel
import BluetoothTypes
import BusValue
import FoundationEssentials
import TimeTypes

/// The programs of the types that were met, and what they refer to.
struct StateMemory: Sendable {
  private var numbers: [ObjectIdentifier: Int] = [:]
  private(set) var programs: [StateProgram] = []
  private(set) var choices: [StateChoice] = []
  private(set) var elements: [StateElements] = []
  private(set) var mirrored: [Any.Type] = []

  /// The number of the program for values of a type.
  mutating func program(of type: Any.Type) -> Int {
    if let known = numbers[ObjectIdentifier(type)] { return known }
    let number = programs.count
    // A type may contain itself, in a collection or a box.
    numbers[ObjectIdentifier(type)] = number
    programs.append(StateProgram())
    var steps: [StateProgram.Step] = []
    add(type, at: 0, to: &steps)
    programs[number].steps = steps
    return number
  }

  private mutating func add(_ type: Any.Type, at place: Int, to steps: inout [StateProgram.Step]) {
    if let step = Self.simpleStep(for: type, at: place) { return steps.append(step) }
    if let collection = type as? any ReadableElements.Type {
      elements.append(
        StateElements(
          type: collection, isOrdered: collection.isOrdered, program: program(of: collection.element)))
      return steps.append(.elements(at: place, elements.count - 1))
    }
    let isOptional = Metadata(type).kind == .optional
    guard isOptional || !(type is any CustomReflectable.Type) else { return addMirrored(type, at: place, to: &steps) }
    switch TypeShape(of: type) {
    case .members(let members) where !members.isEmpty:
      steps.append(.begin)
      for member in members { add(member, of: type, at: place, to: &steps) }
      steps.append(.end)
    case .enumeration(let shape):
      let choice = choice(shape, of: type, isOptional: isOptional)
      choices.append(choice)
      steps.append(.choice(at: place, choices.count - 1))
    default: addMirrored(type, at: place, to: &steps)
    }
  }

  private mutating func addMirrored(_ type: Any.Type, at place: Int, to steps: inout [StateProgram.Step]) {
    mirrored.append(type)
    steps.append(.mirrored(at: place, mirrored.count - 1))
  }

  private mutating func add(
    _ member: TypeShape.Member, of type: Any.Type, at place: Int, to steps: inout [StateProgram.Step]
  ) {
    let place = place + member.offset
    let reading = Metadata(type).kind == .tuple ? .plainly : StateReader.reading(of: member.label, in: type)
    switch reading {
    case .plainly: add(member.type, at: place, to: &steps)
    case .notAtAll: break
    case .asSequence:
      guard let width = StateProgram.Width(member.type) else { return addMirrored(member.type, at: place, to: &steps) }
      steps.append(.sequence(at: place, width))
    case .asDeadline where member.type == Instant.self: steps.append(.deadline(at: place))
    case .asDeadline where member.type == Instant?.self: steps.append(.optionalDeadline(at: place))
    case .asDeadline: add(member.type, at: place, to: &steps)
    }
  }

  private static func simpleStep(for type: Any.Type, at place: Int) -> StateProgram.Step? {
    if type == ObjectPath.self { return .path(at: place) }
    if type == ClientIdentifier.self { return .client(at: place) }
    if let kind = StateReader.names.firstIndex(where: { $0 == type }) {
      guard case .members(let members) = TypeShape(of: type), let number = members.first,
        let width = StateProgram.Width(number.type)
      else { return nil }
      return .name(at: place + number.offset, width, kind: kind, isScoped: kind < StateReader.scopedNames.count)
    }
    if type == [UInt8].self { return .bytes(at: place) }
    if type == String.self { return .text(at: place) }
    if type == UUID.self { return .uuid(at: place) }
    if type == BluetoothUUID.self { return .bluetoothUUID(at: place) }
    return StateProgram.Width(type).map { .integer(at: place, $0) }
  }

  private mutating func choice(_ shape: EnumShape, of type: Any.Type, isOptional: Bool) -> StateChoice {
    let cases = shape.cases.enumerated().map { tag, each -> StateChoice.Case in
      guard let payload = each.payload else {
        return StateChoice.Case(word: isOptional ? nil : Self.word(of: tag, shape, type))
      }
      let box = each.isIndirect ? max(16, Metadata(payload).alignment) : nil
      return StateChoice.Case(
        word: isOptional ? nil : StateReader.hash(each.name), program: program(of: payload), boxOffset: box)
    }
    return StateChoice(shape: shape, cases: cases, liesInPlace: shape.liesInPlace)
  }

  /// What stands for a case that carries nothing.
  private static func word(of tag: Int, _ shape: EnumShape, _ type: Any.Type) -> UInt64 {
    withUnsafeTemporaryAllocation(byteCount: max(shape.size, 1), alignment: shape.alignment) { room in
      guard let place = room.baseAddress else { return 0 }
      shape.make(tag, at: place)
      return StateReader.hash("\(value(of: type, at: UnsafeRawPointer(place)))")
    }
  }

  static func value(of type: Any.Type, at place: UnsafeRawPointer) -> Any {
    func load<Value>(_ type: Value.Type) -> Any { place.assumingMemoryBound(to: Value.self).pointee }
    return _openExistential(type, do: load)
  }
}

extension StateReader {
  mutating func readMemory<Value>(_ value: Value) {
    let program = memory.program(of: Value.self)
    withUnsafePointer(to: value) { run(program, UnsafeRawPointer($0)) }
  }

  private mutating func run(_ program: Int, _ base: UnsafeRawPointer) {
    let steps = memory.programs[program].steps
    for step in steps {
      switch step {
      case .begin: append(.begin(isOrdered: true))
      case .end: append(.end)
      case .integer(let place, let width): append(.word(width.load(base + place)))
      case .text(let place): append(.word(Self.hash((base + place).assumingMemoryBound(to: String.self).pointee)))
      case .bytes(let place): append(.word(Self.hash((base + place).assumingMemoryBound(to: [UInt8].self).pointee)))
      case .uuid(let place): append(.word(Self.hash((base + place).assumingMemoryBound(to: UUID.self).pointee)))
      case .bluetoothUUID(let place):
        append(.word(Self.hash((base + place).assumingMemoryBound(to: BluetoothUUID.self).pointee)))
      case .client(let place): readClient((base + place).assumingMemoryBound(to: ClientIdentifier.self).pointee)
      case .path(let place): readPath((base + place).assumingMemoryBound(to: ObjectPath.self).pointee)
      case .name(let place, let width, let kind, let isScoped):
        append(
          .name(scope: isScoped ? scope : 0, kind: kind, number: Int64(bitPattern: width.load(base + place))))
      case .sequence(let place, let width):
        append(.name(scope: scope, kind: 0, number: Int64(bitPattern: width.load(base + place))))
      case .deadline(let place): add(deadline: (base + place).assumingMemoryBound(to: Instant.self).pointee)
      case .optionalDeadline(let place):
        add(deadline: (base + place).assumingMemoryBound(to: Instant?.self).pointee ?? .zero)
      case .choice(let place, let number): read(memory.choices[number], at: base + place)
      case .elements(let place, let number):
        let elements = memory.elements[number]
        append(.begin(isOrdered: elements.isOrdered))
        elements.type.forEach(at: base + place) { run(elements.program, $0) }
        append(.end)
      case .mirrored(let place, let number):
        let type = memory.mirrored[number]
        readMirrored(StateMemory.value(of: type, at: base + place), as: type)
      }
    }
  }

  private mutating func add(deadline: Instant) {
    append(.word(UInt64(bitPattern: max(now, deadline).nanoseconds)))
  }

  private mutating func read(_ choice: StateChoice, at place: UnsafeRawPointer) {
    let found = choice.cases[choice.shape.tag(of: place)]
    append(.begin(isOrdered: true))
    if let word = found.word { append(.word(word)) }
    if let program = found.program {
      if choice.liesInPlace {
        read(program, found.boxOffset, at: place)
      } else {
        // A copy of the bytes alone, which is not let go of: nothing is counted, and the value stays as it is.
        let size = choice.shape.size
        withUnsafeTemporaryAllocation(byteCount: size, alignment: choice.shape.alignment) { room in
          guard let copy = room.baseAddress else { return }
          copy.copyMemory(from: place, byteCount: size)
          choice.shape.project(copy)
          read(program, found.boxOffset, at: UnsafeRawPointer(copy))
        }
      }
    }
    append(.end)
  }

  private mutating func read(_ program: Int, _ boxOffset: Int?, at place: UnsafeRawPointer) {
    guard let boxOffset else { return run(program, place) }
    run(program, place.load(as: UnsafeRawPointer.self) + boxOffset)
  }
}
