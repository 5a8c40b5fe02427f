// Generated pictures that say whose they are and which: a moving background, and a bar code over the upper part.
//
//   16 × 7 cells, white 1, black 0: identity 64 bits | number 32 bits | check 16 bits
//
// A cell is a sixteenth of the width and a twelfth of the height, so that it survives coding at any bitrate that shows
// anything at all.

import Glibc
import VP8Codec

enum TestPicture {
  private static let columns = 16
  private static let rows = 12
  private static let white: UInt8 = 235
  private static let black: UInt8 = 16

  /// What a picture says.
  struct Label: Equatable {
    var identity: UInt64
    var number: UInt32

    fileprivate var bits: [Bool] {
      let words: [(UInt64, Int)] = [(identity, 64), (UInt64(number), 32), (UInt64(check), 16)]
      return words.flatMap { word, length in (0..<length).map { word >> UInt64(length - 1 - $0) & 1 == 1 } }
    }

    fileprivate var check: UInt16 {
      let mixed = (identity ^ UInt64(number) &* 0x9e37_79b9_7f4a_7c15) &* 0xff51_afd7_ed55_8ccd
      return UInt16(truncatingIfNeeded: mixed >> 48)
    }

    fileprivate init?(bits: [Bool]) {
      guard bits.count == 112 else { return nil }
      func value(_ range: Range<Int>) -> UInt64 { bits[range].reduce(0) { $0 << 1 | ($1 ? 1 : 0) } }
      self.init(identity: value(0..<64), number: UInt32(value(64..<96)))
      if UInt64(check) != value(96..<112) { return nil }
    }

    init(identity: UInt64, number: UInt32) {
      self.identity = identity
      self.number = number
    }
  }

  /// Draws the picture of a label; both lengths are even.
  static func draw(_ label: Label, width: Int, height: Int) -> Picture {
    var picture = Picture(width: width, height: height)
    drawBackground(&picture, label)
    let cell = (width: width / columns, height: height / rows)
    for (index, bit) in label.bits.enumerated() {
      let (left, top) = (index % columns * cell.width, index / columns * cell.height)
      for row in top..<(top + cell.height) {
        for column in left..<(left + cell.width) { picture.bytes[row * width + column] = bit ? white : black }
      }
    }
    return picture
  }

  /// Gradients that move with the number, in a colour of the identity.
  private static func drawBackground(_ picture: inout Picture, _ label: Label) {
    let (width, height) = (picture.width, picture.height)
    let shift = Int(label.number % 1_024) * 3
    for row in 0..<height {
      for column in 0..<width {
        picture.bytes[row * width + column] = UInt8(40 + ((column + shift) * 160 / width + row * 120 / height) % 160)
      }
    }
    let chroma = ((width + 1) / 2) * ((height + 1) / 2)
    for (plane, shift) in [(0, UInt64(8)), (1, UInt64(16))] {
      let colour = UInt8(64 + (label.identity >> shift) % 128)
      for index in 0..<chroma { picture.bytes[width * height + plane * chroma + index] = colour }
    }
  }

  /// What a picture says; nil when it says nothing that can be read.
  static func read(_ picture: Picture) -> Label? {
    let cell = (width: picture.width / columns, height: picture.height / rows)
    guard cell.width >= 4, cell.height >= 4 else { return nil }
    let bits = (0..<112).map { index in
      let column = index % columns * cell.width + cell.width / 2
      let row = index / columns * cell.height + cell.height / 2
      return picture.bytes[row * picture.width + column] > 125
    }
    return Label(bits: bits)
  }

  /// Peak signal-to-noise ratio of the brightness, in decibels; infinite for equal pictures, nil for different sizes.
  static func psnr(_ a: Picture, _ b: Picture) -> Double? {
    let pixels = a.width * a.height
    guard a.width == b.width, a.height == b.height, pixels > 0 else { return nil }
    var sum = 0.0
    for index in 0..<pixels {
      let difference = Double(a.bytes[index]) - Double(b.bytes[index])
      sum += difference * difference
    }
    return sum == 0 ? .infinity : 10 * log10(255 * 255 * Double(pixels) / sum)
  }
}
