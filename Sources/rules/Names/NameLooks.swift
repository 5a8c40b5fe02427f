// Whether what others see of two people is one name to a reader: by form, case and blanks, and across scripts by looks (docs/protocol.md).

internal import CLookAlikes
@_spi(_Unicode) import Swift

/// How a name reads. It is made once for each name, so that comparing two is comparing bytes.
public struct NameLooks: Sendable {
  /// Letters of a skeleton, for one letter of a name may stand for eighteen. What follows them says nothing of the name any more.
  static let mostLetters = 256
  /// Parts of a name that are told apart. A name that changes scripts more often is compared by its skeleton alone.
  static let mostParts = 8

  /// In form KC with case folded, without what is invisible, and with each run of blanks as one.
  private let folded: [UInt8]
  /// Its skeletons (UTS 39 §4) in two ways, as `skeletons(of:)` makes them.
  private let skeletons: [[UInt8]]
  /// The same of its parts, each of which some script has all letters of. Most names have one; none where they are too many.
  private let parts: [Part]

  /// Of a name that people are shown.
  public init(_ name: String) {
    let words = Self.singleBlanks(name._nfd.filter { !Self.isInvisible($0) })
    folded = Self.bytes(Self.folded(words))
    skeletons = Self.skeletons(of: words)
    var parts = Self.parts(of: words)
    if parts.count > Self.mostParts { parts = [] }
    let isOne = parts.count == 1
    self.parts = parts.map { [skeletons] in
      Part(scripts: $0.scripts, skeletons: isOne ? skeletons : Self.skeletons(of: $0.letters))
    }
  }

  /// Whether a reader would take one for the other. Within one script letters that look alike (`l` and `I`) make two names.
  public func isSame(as other: NameLooks) -> Bool {
    if folded == other.folded { return true }
    let alike = skeletons.indices.filter { skeletons[$0] == other.skeletons[$0] }
    return !alike.isEmpty && !alike.contains { differsWithinScripts(from: other, $0) }
  }

  /// Whether two names with one skeleton are made up of the same scripts, part by part.
  private func differsWithinScripts(from other: NameLooks, _ way: Int) -> Bool {
    !parts.isEmpty && parts.count == other.parts.count
      && zip(parts, other.parts).allSatisfy {
        !$0.scripts.common(with: $1.scripts).isNone && $0.skeletons[way] == $1.skeletons[way]
      }
  }

  /// Bytes of all that is kept.
  var size: Int {
    ([folded] + skeletons + parts.flatMap(\.skeletons)).reduce(0) { $0 + $1.count }
  }
}

/// Some letters of a name that are of one script, with those between them that are of all.
private struct Part: Sendable {
  /// Scripts that all of them are of.
  let scripts: Scripts
  let skeletons: [[UInt8]]
}

extension NameLooks {
  /// What nobody sees: besides what Unicode calls so, the marks of notes between lines.
  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isDefaultIgnorableCodePoint || (0xfff9...0xfffb).contains(scalar.value)
  }

  /// Whether it is seen as a gap. The empty pattern of Braille is.
  private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x80
      ? scalar == " " || (9...13).contains(scalar.value) : scalar.properties.isWhitespace || scalar.value == 0x2800
  }

  /// Without blanks at the ends, and with one for each run of them.
  private static func singleBlanks(_ scalars: [Unicode.Scalar]) -> [Unicode.Scalar] {
    var result: [Unicode.Scalar] = []
    result.reserveCapacity(scalars.count)
    var isAfterBlank = false
    for scalar in scalars {
      if isBlank(scalar) {
        isAfterBlank = !result.isEmpty
      } else {
        if isAfterBlank { result.append(" ") }
        isAfterBlank = false
        result.append(scalar)
      }
    }
    return result
  }

  /// In form KC with case folded. A letter may be folded to blanks and others, and to such as join what stands before them.
  private static func folded(_ letters: [Unicode.Scalar]) -> [Unicode.Scalar] {
    singleBlanks(Letters.replaced(letters, by: lookalikes_fold))
  }

  /// What letters look like. First as they are written, whatever the case is of what they look like: a capital of another
  /// script may look like a Latin one whose name is written small. Then as they are once they are folded.
  private static func skeletons(of letters: [Unicode.Scalar]) -> [[UInt8]] {
    // A capital `I` looks like a small `l`, so that in any case these three are one.
    let looks = folded(prototypes(letters)).map { $0 == "i" ? "l" : $0 }
    return [looks, Array(folded(letters).prefix(mostLetters))].map { bytes(prototypes($0)) }
  }

  private static func prototypes(_ letters: [Unicode.Scalar]) -> [Unicode.Scalar] {
    Array(Letters.replaced(Array(text(letters)._nfd), by: lookalikes_prototype).prefix(mostLetters))
  }

  /// In form C.
  private static func bytes(_ letters: [Unicode.Scalar]) -> [UInt8] { Array(NameForm.composed(text(letters)).utf8) }

  private static func text(_ letters: [Unicode.Scalar]) -> String {
    var view = String.UnicodeScalarView()
    for letter in letters { view.append(letter) }
    return String(view)
  }

  private static func parts(of letters: [Unicode.Scalar]) -> [(scripts: Scripts, letters: [Unicode.Scalar])] {
    var parts: [(scripts: Scripts, letters: [Unicode.Scalar])] = []
    for letter in letters {
      let own = Scripts(of: letter)
      if let last = parts.indices.last, case let common = parts[last].scripts.common(with: own), !common.isNone {
        parts[last].scripts = common
        parts[last].letters.append(letter)
      } else {
        parts.append((own, [letter]))
      }
    }
    return parts
  }
}

/// What stands for letters.
private enum Letters {
  /// Each letter as a table has it; itself where the table has it not.
  static func replaced(
    _ letters: [Unicode.Scalar], by find: (UInt32) -> lookalikes_entry
  ) -> [Unicode.Scalar] {
    var result: [Unicode.Scalar] = []
    result.reserveCapacity(letters.count)
    for letter in letters {
      let entry = find(letter.value)
      guard entry.scalar == letter.value else {
        result.append(letter)
        continue
      }
      for place in 0..<entry.count {
        if let other = Unicode.Scalar(lookalikes_letter(entry.start + place)) { result.append(other) }
      }
    }
    return result
  }
}

/// A set of scripts.
private struct Scripts: Sendable {
  private let bits: SIMD4<UInt64>

  /// Those that a letter is of.
  init(of scalar: Unicode.Scalar) {
    let set = lookalikes_scripts_of(scalar.value)
    bits = SIMD4(set.a, set.b, set.c, set.d)
  }

  private init(bits: SIMD4<UInt64>) { self.bits = bits }

  func common(with other: Scripts) -> Scripts { Scripts(bits: bits & other.bits) }

  var isNone: Bool { bits == SIMD4(repeating: 0) }
}
