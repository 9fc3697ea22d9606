import Foundation

/// Guards the state of every Core Bluetooth object of the process.
///
/// Objects refer to each other in all directions (a manager to its peripherals, a characteristic to its peripheral's
/// manager), so a single lock is what can't deadlock. It is held for field accesses and while passing a request to
/// the link, never while an app's code runs. It is recursive because releasing the last reference to an object inside
/// it runs that object's `deinit`.
private let stateLock = NSRecursiveLock()

func locked<Value>(_ body: () throws -> Value) rethrows -> Value {
  stateLock.lock()
  defer { stateLock.unlock() }
  return try body()
}

/// Where `deinit`s send their messages to the system: a `deinit` may run anywhere, even under the lock.
let housekeepingQueue = DispatchQueue(label: "org.latchkey.corebluetooth.housekeeping")
