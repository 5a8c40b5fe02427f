// What reads as one name, and what does not: by form, case and blanks within a script, by looks across scripts.

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
    ("Anna", "An\u{200b}na"), ("Anna", "\u{200d} Anna"), ("fin", "\u{fb01}n"),
    ("Anna", "\u{ff21}\u{ff4e}\u{ff4e}\u{ff41}"),
    ("Stra\u{df}e", "STRASSE"), ("Kim", "\u{212a}im"), ("Ren\u{e9}", "RENE\u{301}"), ("2", "\u{2461}"),
    ("\u{3c3}", "\u{3c2}"),
    ("\u{30ab}", "\u{ff76}"), ("\u{1d400}nna", "anna"),
  ]) func oneNameIsWrittenInSeveralWays(one: String, other: String) { #expect(Self.isSame(one, other)) }

  /// Cyrillic, Greek, Armenian and Cherokee for Latin; whole names, and single letters in others.
  @Test(arguments: [
    ("scope", "\u{455}\u{441}\u{43e}\u{440}\u{435}"), ("Anna", "\u{410}nna"), ("anna", "\u{430}nn\u{430}"),
    ("Kim", "K\u{456}m"),
    ("KIM", "k\u{456}m"), ("BOB", "\u{412}\u{41e}\u{412}"), ("Ooo", "\u{39f}\u{3bf}\u{3bf}"), ("o", "\u{585}"),
    ("D", "\u{13a0}"),
    ("\u{430}nna", "an\u{578}a"), ("Ann\u{e9}", "\u{410}nn\u{e9}"),
  ]) func lettersOfOtherScriptsMakeNoOtherPerson(one: String, other: String) { #expect(Self.isSame(one, other)) }

  /// Within a script, and where letters are of all scripts, people are called what looks alike.
  @Test(arguments: [
    ("lan", "Ian"), ("corn", "com"), ("rn", "m"), ("l", "1"), ("O", "0"), ("Anna", "Anna2"), ("Anna", "Hanna"),
    ("Ben", "Len"),
    ("Ren\u{e9}", "Rene"), ("\u{412}\u{43e}\u{432}\u{430}", "Bova"), ("\u{5c71}\u{7530}", "\u{5c71}\u{7531}"),
    ("\u{30cf}", "\u{516b}"),
    ("a b", "ab"), ("\u{448}", "\u{449}"), ("", "a"),
  ]) func othersAreOthers(one: String, other: String) { #expect(!Self.isSame(one, other)) }

  /// However many letters stand for one: nothing grows beyond what a name may be by more than that.
  @Test func theLongestNamesAreCompared() {
    for letter in ["\u{fdfa}", "\u{1f82}", "\u{33a7}", "\u{430}", "\u{ac01}"] {
      let name = String(repeating: letter, count: 128 / letter.utf8.count)
      #expect(Self.isSame(name, name) && !Self.isSame(name, "a"))
    }
  }
}
