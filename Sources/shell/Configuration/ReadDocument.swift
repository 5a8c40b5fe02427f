// Files of ours that are not rooms.yaml, such as the load test's scenarios: the same rules, bounds and complaints.

/// Reads a YAML file whose keys `body` asks for. Throws everything that is wrong with it, with file, line, column and key;
/// keys that `body` does not ask for are wrong too.
package func readDocument<Value>(file: String, _ body: (inout Section) -> Value) throws(InvalidConfiguration) -> Value {
  try readDocument(readFile(file), file: file, body)
}

/// As above for a text; `file` is its name in error messages.
package func readDocument<Value>(
  _ bytes: [UInt8], file: String, _ body: (inout Section) -> Value
) throws(InvalidConfiguration) -> Value {
  let report = ConfigurationReport(file: file, interfaces: nil)
  var root: YAMLNode?
  do {
    root = try parseYAML(bytes)
  } catch {
    report.complain(error.mark, "", error.message)
  }
  var section = Section(root: root, report: report)
  let value = body(&section)
  section.finish()
  guard report.issues.isEmpty else {
    throw InvalidConfiguration(
      issues: report.issues.sorted { ($0.line, $0.column, $0.key) < ($1.line, $1.column, $1.key) })
  }
  return value
}
