// What reads as one name, and what does not: by form, case and blanks within a script, by looks across scripts.

import RoostProtocol
import Testing

@testable import Names

@Suite struct NameLooksTests {
  private static func isSame(_ one: String, _ other: String) -> Bool {
    let (a, b) = (NameLooks(one), NameLooks(other))
    #expect(a.isSame(as: b) == b.isSame(as: a), "both ways")
    return a.isSame(as: b)
  }

  @Test(arguments: [
    ("Anna", "Anna"), ("Anna", "anna"), ("Anna Lee", "anna  LEE"), ("Anna Lee", "Anna\u{a0}\u{2003}Lee"),
    ("Anna Lee", "Anna\u{3000}Lee"), ("Anna Lee", "Anna \u{200b} Lee"), ("Anna Lee", "Anna\u{2800}Lee"),
    ("Anna", "An\u{200b}na"), ("Anna", "\u{200d} Anna"), ("Anna", "Anna\u{3164}"), ("Anna", "An\u{fffa}na"),
    ("Anna", "An\u{e0041}na"), ("Anna", "Anna\u{2800}"), ("fin", "\u{fb01}n"), ("Stra\u{df}e", "STRASSE"),
    ("Anna", "\u{ff21}\u{ff4e}\u{ff4e}\u{ff41}"), ("Kim", "\u{212a}im"), ("Ren\u{e9}", "RENE\u{301}"),
    ("2", "\u{2461}"), ("\u{3c3}", "\u{3c2}"), ("\u{30ab}", "\u{ff76}"), ("\u{1d400}nna", "anna"),
  ]) func oneNameIsWrittenInSeveralWays(one: String, other: String) { #expect(Self.isSame(one, other)) }

  /// Cyrillic, Greek, Armenian and Cherokee for Latin; whole names, and single letters in others, in any case.
  @Test(arguments: [
    ("scope", "\u{455}\u{441}\u{43e}\u{440}\u{435}"), ("Anna", "\u{410}nna"), ("anna", "\u{430}nn\u{430}"),
    ("ANNA", "\u{430}nn\u{430}"), ("Kim", "K\u{456}m"), ("KIM", "k\u{456}m"), ("Kim", "\u{41a}\u{406}\u{41c}"),
    ("BOB", "\u{412}\u{41e}\u{412}"), ("bob", "\u{412}\u{41e}\u{412}"), ("brad", "\u{412}\u{433}\u{430}d"),
    ("Ooo", "\u{39f}\u{3bf}\u{3bf}"), ("o", "\u{585}"), ("D", "\u{13a0}"), ("\u{430}nna", "an\u{578}a"),
    ("Ann\u{e9}", "\u{410}nn\u{e9}"), ("\u{410}\u{43d}\u{44f} Ian", "\u{410}\u{43d}\u{44f} \u{406}an"),
    ("\u{5c71}\u{7530} Ian", "\u{5c71}\u{7530} \u{406}an"), ("Anna 1", "\u{410}nna l"),
  ]) func lettersOfOtherScriptsMakeNoOtherPerson(one: String, other: String) { #expect(Self.isSame(one, other)) }

  /// Within a script, also part by part, and where letters are of all scripts, people are called what looks alike.
  @Test(arguments: [
    ("lan", "Ian"), ("corn", "com"), ("rn", "m"), ("l", "1"), ("O", "0"), ("Anna", "Anna2"), ("Anna", "Hanna"),
    ("Ben", "Len"), ("Ren\u{e9}", "Rene"), ("\u{412}\u{43e}\u{432}\u{430}", "Bova"), ("a b", "ab"), ("", "a"),
    ("\u{5c71}\u{7530}", "\u{5c71}\u{7531}"), ("\u{30cf}", "\u{516b}"), ("\u{448}", "\u{449}"),
    ("\u{5c71}\u{7530} lan", "\u{5c71}\u{7530} Ian"), ("lan \u{410}\u{43d}\u{44f}", "Ian \u{410}\u{43d}\u{44f}"),
    ("\u{410}\u{43d}\u{43d}\u{430}", "Anna"),
  ]) func othersAreOthers(one: String, other: String) { #expect(!Self.isSame(one, other)) }

  /// However many letters stand for one: what is kept of the longest name is bounded, and so is what making it costs.
  @Test(arguments: ["\u{fdfa}", "\u{1f82}", "\u{33a7}", "\u{430}", "\u{ac01}", "m", "m\u{43c}", "\u{fdfa}A"])
  func theLongestNamesAreBounded(letter: String) {
    let name = String(repeating: letter, count: ProtocolLimits.nameBytes / letter.utf8.count)
    let looks = NameLooks(name)
    #expect(Self.isSame(name, name) && !Self.isSame(name, "a"))
    #expect(looks.size > name.utf8.count && looks.size <= 8_192, "\(looks.size) bytes")
  }

  /// So many letters of a skeleton are compared: the last of them makes a difference, and the next does not.
  @Test func soManyLettersOfASkeletonCountAndNotOneMore() {
    // Eighteen of the greeting, and one of each `.`: the name ends with the letter in question.
    func name(_ letters: Int, _ end: String) -> String {
      String(repeating: "\u{fdfa}", count: letters / 18) + String(repeating: ".", count: letters % 18) + end
    }
    for (before, isOne) in [(NameLooks.mostLetters - 1, false), (NameLooks.mostLetters, true)] {
      #expect(Self.isSame(name(before, "a"), name(before, "\u{431}")) == isOne)
    }
  }

  /// Within so many parts letters that look alike make two names.
  @Test func soManyPartsAreToldApartAndNotOneMore() {
    for (count, isOne) in [(NameLooks.mostParts, false), (NameLooks.mostParts + 1, true)] {
      let rest = (1..<count).map { $0 % 2 == 0 ? "n" : "\u{43d}" }.joined()
      #expect(Self.isSame("l" + rest, "I" + rest) == isOne)
    }
  }
}
