/// A set in ascending order, kept in short sorted runs. A change copies one run and the list of runs, even while an
/// earlier copy of the set is still in use. So the cost of a change hardly depends on the size of the set.
struct ChunkedSortedSet<Element: Comparable & Sendable>: Sendable {
  /// In ascending order. No run is empty.
  private var runs: [[Element]] = []

  /// A run that grows beyond this is divided into two.
  private static var longestRun: Int { 128 }

  var isEmpty: Bool { runs.isEmpty }
  var first: Element? { runs.first?.first }

  mutating func insert(_ element: Element) {
    guard !runs.isEmpty else {
      runs = [[element]]
      return
    }
    let run = runIndex(of: element)
    let place = Self.partition(runs[run]) { $0 >= element }
    if place < runs[run].count, runs[run][place] == element { return }
    runs[run].insert(element, at: place)
    guard runs[run].count > Self.longestRun else { return }
    let half = runs[run].count / 2
    runs.insert(Array(runs[run][half...]), at: run + 1)
    runs[run].removeLast(runs[run].count - half)
  }

  mutating func remove(_ element: Element) {
    guard !runs.isEmpty else { return }
    let run = runIndex(of: element)
    let place = Self.partition(runs[run]) { $0 >= element }
    guard place < runs[run].count, runs[run][place] == element else { return }
    runs[run].remove(at: place)
    if runs[run].isEmpty { runs.remove(at: run) }
  }

  /// The elements from the first one that lies beyond something, as long as they are wanted.
  /// - Parameter isBeyond: `false` for the elements up to some place in the order, `true` for all later ones.
  func elements(from isBeyond: (Element) -> Bool, while isWanted: (Element) -> Bool) -> [Element] {
    var found: [Element] = []
    var run = Self.partition(runs) { $0.last.map(isBeyond) ?? true }
    while run < runs.count {
      for element in runs[run] where isBeyond(element) {
        guard isWanted(element) else { return found }
        found.append(element)
      }
      run += 1
    }
    return found
  }

  /// The first element that lies beyond something.
  func first(beyond isBeyond: (Element) -> Bool) -> Element? {
    let run = Self.partition(runs) { $0.last.map(isBeyond) ?? true }
    guard run < runs.count else { return nil }
    let place = Self.partition(runs[run], where: isBeyond)
    return place < runs[run].count ? runs[run][place] : nil
  }

  /// The run that has the element, or would have it.
  private func runIndex(of element: Element) -> Int {
    min(Self.partition(runs) { $0.last.map { $0 >= element } ?? true }, runs.count - 1)
  }

  /// The first index for which the predicate holds, if it holds for all later ones as well.
  private static func partition<Part>(_ parts: [Part], where isBeyond: (Part) -> Bool) -> Int {
    var (low, high) = (0, parts.count)
    while low < high {
      let middle = (low + high) / 2
      if isBeyond(parts[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
