// Doctor: can the web servers be reached that are to be told what happens?
import Basics
import Configuration
import Webhooks

/// Asks each web server for its `OPTIONS`: the name, the way there and the certificate are looked at, and nothing is told.
func examineWebhooks(_ configuration: ServerConfiguration) -> [Finding] {
  configuration.webhookEndpoints.flatMap { key, endpoint, timeout -> [Finding] in
    [webhookFinding(key, endpoint.url, probe(endpoint.url, within: min(timeout, .seconds(10))))]
      + unprotected(key, endpoint.url)
  }
}

/// What came of a look at a web server, by its key.
func webhookFinding(_ name: String, _ url: String, _ look: HTTPLook) -> Finding {
  let what = "\(name): \(url)"
  switch look {
  case .reached(300..<400):
    return .failure("\(what) redirects, which is not followed", mend: "write the final URL into \(name).url")
  case .reached(let status) where status < 500: return .ok("\(what) answers")
  case .reached(let status):
    return .warning("\(what) answers with \(status)", mend: "look why at that server; messages wait until it works")
  case .unknownName: return .failure("\(what): nobody knows this name", mend: "correct the name, or /etc/resolv.conf")
  case .unreachable(let words):
    return .failure("\(what): \(words)", mend: "start the server there, or open its port to this machine")
  case .untrusted(let words):
    return .failure(
      "\(what): TLS fails: \(words)",
      mend:
        "give that server a valid certificate with its chain, or install its authority here (update-ca-certificates)")
  case .late:
    return .failure("\(what): no answer in time", mend: "look whether a firewall on the way drops what is sent there")
  case .failed(let words):
    return .failure("\(what): \(words)", mend: "look at that server, and whether \(name).url is right")
  }
}

private func unprotected(_ name: String, _ url: String) -> [Finding] {
  guard url.hasPrefix("http://") else { return [] }
  let rest = url.dropFirst("http://".count)
  let host = rest.hasPrefix("[") ? rest.prefix { $0 != "]" } + "]" : rest.prefix { $0 != "/" && $0 != ":" }
  guard !["localhost", "127.0.0.1", "[::1]"].contains(host) else { return [] }
  return [
    .warning(
      "\(name): who calls whom goes over the network unencrypted",
      mend: "use https: unless the network between the two is yours alone")
  ]
}
