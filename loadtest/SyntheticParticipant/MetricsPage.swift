// What a server of our own says of itself, as Prometheus reads it.

/// The server's page for Prometheus.
public enum MetricsPage {
  /// The page of the server at `http://ADDRESS:PORT`, the address an IPv4 one; nil where it gives none.
  public static func text(at url: String) async -> String? {
    let answer = try? await PlainHTTP.ask("GET", url + "/metrics", [:], "")
    return answer?.status == 200 ? answer?.body : nil
  }
}
