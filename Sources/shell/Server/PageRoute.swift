// The page and its files over HTTP: compressed for who takes that, and not sent again to who has them (RFC 9110 §12.5.3, §13.1.2).
import WebClient
import WebSockets

extension RoostServer {
  /// Answers for every path that no other route has. The files are made ready before it is returned.
  static func pageRoute() -> HTTPRoute {
    let assets = WebClient.assets.count
    return HTTPRoute(.prefix("/")) { request in
      guard assets > 0, let asset = WebClient.asset(path: request.path) else { return .text(404, "Not found.") }
      let sent = asset.representation(accepting: request.header("accept-encoding"))
      var headers = asset.headers.map { HTTPResponse.Header($0.name, $0.value) } + [.init("etag", sent.etag)]
      if sent.isKnown(request.header("if-none-match")) { return HTTPResponse(status: 304, headers: headers) }
      if let coding = sent.coding { headers.append(.init("content-encoding", coding)) }
      return HTTPResponse(contentType: asset.contentType, headers: headers, body: sent.bytes)
    }
  }
}
