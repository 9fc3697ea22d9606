import Foundation

/// Guards the state of every Core Bluetooth object of the process.
///
/// Objects refer to each other in all directions (a manager to its peripherals, a characteristic to its peripheral's
/// manager), so a single lock is what can't deadlock. It is held for field accesses and while passing a request to
/// the link, never while an app's code runs. It is recursive because releasing the last reference to an object inside
/// it runs that object's `deinit`.
private let stateLock = NSRecursiveLock()

/// How deep the calls of `locked` are nested. Used only under the lock, as is `changedObjects`.
nonisolated(unsafe) private var depth = 0

/// Objects that someone observes and that have changed since the lock was taken.
nonisolated(unsafe) private var changedObjects: [CoreBluetoothObject] = []

func locked<Value>(_ body: () throws -> Value) rethrows -> Value {
  stateLock.lock()
  depth += 1
  defer { leave() }
  return try body()
}

/// Observers are an app's code, so they are told when the lock is free.
private func leave() {
  depth -= 1
  guard depth == 0, !changedObjects.isEmpty else { return stateLock.unlock() }
  let objects = changedObjects
  changedObjects = []
  stateLock.unlock()
  for object in objects { object.tellObservations() }
}

/// An object that someone observes has changed. Called under the lock.
func noteChange(of object: CoreBluetoothObject) {
  if !changedObjects.contains(where: { $0 === object }) { changedObjects.append(object) }
}

/// Where `deinit`s send their messages to the system: a `deinit` may run anywhere, even under the lock.
let housekeepingQueue = DispatchQueue(label: "org.latchkey.corebluetooth.housekeeping")
