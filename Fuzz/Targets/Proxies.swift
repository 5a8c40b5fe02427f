// What proxies say of their clients: the PROXY protocol, lists of addresses, and the frames that follow a handshake.
import Basics
import WebSockets

/// What was read of a connection that begins with a PROXY header, in pieces of `size`.
private struct ReadProxyHeader: Equatable {
  var source: ProxyHeader.Source?
  var taken = 0
  var isMalformed = false

  init(_ input: [UInt8], pieces size: Int) {
    var header = ProxyHeader()
    var there = 0
    while header.wanted > 0, there < input.count || taken < there {
      if taken == there { there = min(there + size, input.count) }
      do throws(ProxyHeader.Malformed) {
        let piece = input[taken..<min(there, taken + header.wanted)]
        let count = try header.take(piece)
        precondition(count > 0 && count <= piece.count, "what is looked at is taken, or less")
        taken += count
      } catch {
        (isMalformed, taken) = (true, 0)
        return
      }
    }
    source = header.source
    precondition(taken <= ProxyHeader.mostBytes, "a header is bounded")
    precondition(source != nil || taken == input.count, "one that is not whole wants more")
  }
}

/// The first byte chooses the size of the pieces.
@Sendable func readProxyHeader(_ input: Span<UInt8>) {
  guard let first = input.bytes().first else { return }
  let bytes = Array(input.bytes().dropFirst())
  let whole = ReadProxyHeader(bytes, pieces: max(bytes.count, 1))
  let parts = ReadProxyHeader(bytes, pieces: Int(first) + 1)
  precondition(whole == parts, "a header is the same however it is cut")
  readForwardedFor(bytes)
  readFrameHeads(bytes, pieces: Int(first) + 1)
}

/// Whoever is named by a list that ends with a client is that client, whatever stands before.
private func readForwardedFor(_ bytes: [UInt8]) {
  guard let range = AddressRange("10.0.0.0/8"), let proxy = SocketAddress(host: "10.0.0.1", port: 1),
    let client = SocketAddress(host: "203.0.113.9", port: 0)
  else { preconditionFailure("these are addresses") }
  let proxies = TrustedProxies([range])
  let text = String(decoding: bytes.filter { $0 != 10 && $0 != 13 }, as: UTF8.self)
  var head = RequestHead()
  head.headers = [HTTPHeader("x-forwarded-for", text)]
  if let named = proxies.client(of: proxy, head), proxies.trusts(named) {
    precondition(text.split(separator: ",", omittingEmptySubsequences: false).count <= TrustedProxies.mostHops)
  }
  precondition(proxies.client(of: client, head) == client, "who is no proxy speaks for themselves alone")
  head.headers.append(HTTPHeader("x-forwarded-for", "203.0.113.9, 10.0.0.2"))
  precondition(proxies.client(of: proxy, head) == client, "what stands before counts for nothing")
}

private func readFrameHeads(_ bytes: [UInt8], pieces size: Int) {
  var (whole, parts) = (FrameHeads(), FrameHeads())
  let given = bytes.withUnsafeBytes { whole.read($0) }
  precondition(given == bytes.count || whole.fault != nil, "all of it, or up to a frame that none may send")
  var sum = 0
  for start in stride(from: 0, to: bytes.count, by: size) {
    sum += bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { parts.read($0) }
  }
  precondition(whole.fault == parts.fault, "frames are the same however they are cut")
  precondition(whole.fault != nil || whole.unfinished == parts.unfinished, "and so is what is not whole")
  let begun = sum - given
  precondition(
    begun == 0 || whole.fault != nil && (1..<131).contains(begun), "but for the begin of the one that is bad")
}
