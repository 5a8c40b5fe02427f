// Whether what others see of two people is one name to a reader: by form, case and blanks, and across scripts by looks (docs/protocol.md).

internal import CLookAlikes
@_spi(_Unicode) import Swift

/// How a name reads. Made once for each name; two are compared as texts are.
public struct NameLooks: Sendable {
  /// Without what is invisible, and with each run of blanks as one.
  private let written: String
  /// The same in form KC with case folded.
  private let folded: String
  /// Made of the letters' prototypes (UTS 39 §4), as written and as folded; nil for a name of ASCII, which seldom needs them.
  private let skeletons: [String]?
  /// Scripts that all its letters are of; none where it mixes them.
  private let scripts: Scripts

  /// Of a name that people are shown.
  public init(_ name: String) {
    let isPlain = name.utf8.allSatisfy { $0 < 0x80 }
    let visible = isPlain ? Array(name.unicodeScalars) : name._nfd.filter { !$0.properties.isDefaultIgnorableCodePoint }
    written = Self.singleBlanks(visible)
    if isPlain {
      folded = written.lowercased()
      (skeletons, scripts) = (nil, name.utf8.contains { (0x61...0x7a).contains($0 | 0x20) } ? Scripts(of: "a") : .all)
    } else {
      // A letter may be folded to blanks and others, and to such as join what stands before them.
      let letters = visible.flatMap(Letters.folded)
      folded = NameForm.composed(Self.singleBlanks(letters))
      skeletons = [Self.skeleton(written), Self.skeleton(folded)]
      scripts = visible.reduce(.all) { $0.common(with: Scripts(of: $1)) }
    }
  }

  /// Whether a reader would take one for the other. Within one script letters that look alike (`l` and `I`) make two names.
  public func isSame(as other: NameLooks) -> Bool {
    if folded.utf8.elementsEqual(other.folded.utf8) { return true }
    guard scripts.common(with: other.scripts).isNone else { return false }
    let (own, others) = (skeletons ?? asciiSkeletons, other.skeletons ?? other.asciiSkeletons)
    return zip(own, others).contains { $0.utf8.elementsEqual($1.utf8) }
  }

  private var asciiSkeletons: [String] { [Self.skeleton(written), Self.skeleton(folded)] }

  private static func skeleton(_ text: String) -> String {
    var view = String.UnicodeScalarView()
    for scalar in text._nfd { view.append(contentsOf: Letters.prototype(scalar)) }
    return NameForm.composed(String(view))
  }

  /// Without blanks at the ends, and with one for each run of them.
  private static func singleBlanks(_ scalars: [Unicode.Scalar]) -> String {
    var view = String.UnicodeScalarView()
    var isBlank = false
    for scalar in scalars {
      if scalar.properties.isWhitespace {
        isBlank = !view.isEmpty
      } else {
        if isBlank { view.append(" ") }
        isBlank = false
        view.append(scalar)
      }
    }
    return String(view)
  }
}

/// What stands for a letter.
private enum Letters {
  /// In form KC with case folded.
  static func folded(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
    standing(for: scalar, lookalikes_fold(scalar.value))
  }

  /// What it looks like.
  static func prototype(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
    standing(for: scalar, lookalikes_prototype(scalar.value))
  }

  private static func standing(for scalar: Unicode.Scalar, _ entry: lookalikes_entry) -> [Unicode.Scalar] {
    guard entry.scalar == scalar.value else { return [scalar] }
    return (0..<entry.count).compactMap { Unicode.Scalar(lookalikes_letter(entry.start + $0)) }
  }
}

/// A set of scripts.
private struct Scripts: Sendable {
  private let bits: SIMD4<UInt64>

  static let all = Scripts(bits: SIMD4(repeating: .max))

  /// Those that a letter is of.
  init(of scalar: Unicode.Scalar) {
    let set = lookalikes_scripts_of(scalar.value)
    bits = SIMD4(set.a, set.b, set.c, set.d)
  }

  private init(bits: SIMD4<UInt64>) { self.bits = bits }

  func common(with other: Scripts) -> Scripts { Scripts(bits: bits & other.bits) }

  var isNone: Bool { bits == SIMD4(repeating: 0) }
}
