// The libvpx fence: pictures to VP8 frames and back (RFC 6386). An encoder or decoder belongs to the thread that uses it;
// libvpx keeps no state between them.

internal import CVPX

/// Why libvpx refused.
public enum VP8Error: Error, Equatable, Sendable {
  /// No encoder or decoder could be made.
  case unavailable
  /// Not a picture of the encoder's size, or not a frame that can be decoded.
  case malformed
}

/// A picture in I420: the planes Y, U and V one after the other, U and V at half the size, without padding.
public struct Picture: Sendable, Equatable {
  /// Width in pixels.
  public let width: Int
  /// Height in pixels.
  public let height: Int
  /// All three planes.
  public var bytes: [UInt8]

  /// A grey picture; both lengths are even.
  public init(width: Int, height: Int) {
    self.width = width
    self.height = height
    bytes = Array(repeating: 128, count: width * height + 2 * ((width + 1) / 2) * ((height + 1) / 2))
  }
}

/// Pictures to frames.
public struct VP8Encoder: ~Copyable {
  private let context: UnsafeMutablePointer<vpx_codec_ctx_t>
  private let width: Int
  private let height: Int
  private var number = 0

  /// An encoder for pictures of one size.
  public init(width: Int, height: Int, framesPerSecond: Int, bitsPerSecond: Int) throws(VP8Error) {
    context = .allocate(capacity: 1)
    context.initialize(to: vpx_codec_ctx_t())
    (self.width, self.height) = (width, height)
    let status = cvpx_open_encoder(
      context, UInt32(clamping: width), UInt32(clamping: height), UInt32(clamping: framesPerSecond),
      UInt32(clamping: bitsPerSecond / 1_000))
    guard status == VPX_CODEC_OK else { throw .unavailable }
  }

  deinit {
    vpx_codec_destroy(context)
    context.deallocate()
  }

  /// Encodes a picture; as a keyframe when asked, and always the first.
  public mutating func encode(_ picture: Picture, keyframe: Bool = false) throws(VP8Error) -> [UInt8] {
    guard picture.width == width, picture.height == height else { throw .malformed }
    var bytes = picture.bytes
    let status = cvpx_encode(context, &bytes, UInt32(width), UInt32(height), number, keyframe || number == 0 ? 1 : 0)
    guard status == VPX_CODEC_OK else { throw .malformed }
    number += 1
    var iterator: vpx_codec_iter_t?
    var length = 0
    guard let frame = cvpx_next_frame(context, &iterator, &length) else { throw .malformed }
    return Array(UnsafeRawBufferPointer(start: frame, count: length))
  }
}

/// Frames to pictures.
public struct VP8Decoder: ~Copyable {
  /// Larger pictures are refused: what comes from a network must not decide how much memory it gets.
  private static let maximumPixels = 4_096 * 2_304
  private let context: UnsafeMutablePointer<vpx_codec_ctx_t>

  /// A decoder that waits for a keyframe.
  public init() throws(VP8Error) {
    context = .allocate(capacity: 1)
    context.initialize(to: vpx_codec_ctx_t())
    guard cvpx_open_decoder(context) == VPX_CODEC_OK else { throw .unavailable }
  }

  deinit {
    vpx_codec_destroy(context)
    context.deallocate()
  }

  /// The picture of a frame; nil for frames that show none.
  public mutating func decode(_ frame: [UInt8]) throws(VP8Error) -> Picture? {
    guard vpx_codec_decode(context, frame, UInt32(clamping: frame.count), nil, 0) == VPX_CODEC_OK else {
      throw .malformed
    }
    var iterator: vpx_codec_iter_t?
    guard let image = vpx_codec_get_frame(context, &iterator) else { return nil }
    let (width, height) = (Int(image.pointee.d_w), Int(image.pointee.d_h))
    guard width > 0, height > 0, width * height <= Self.maximumPixels else { throw .malformed }
    var picture = Picture(width: width, height: height)
    let capacity = picture.bytes.count
    guard cvpx_copy_picture(image, &picture.bytes, capacity) == capacity else { throw .malformed }
    return picture
  }
}
