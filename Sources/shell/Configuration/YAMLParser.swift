// The libyaml fence: events in, `YAMLNode` out. No libyaml type leaves this file. A parser and its events belong to the
// call that made them; libyaml has no global state, so threads need no rule.
internal import CYAML

/// Parses one document; nil when it holds nothing (empty, or comments only).
func parseYAML(_ bytes: [UInt8]) throws(YAMLError) -> YAMLNode? {
  guard bytes.count <= YAMLBounds.bytes else {
    throw YAMLError(mark: YAMLMark(line: 1, column: 1), message: "the file is larger than \(YAMLBounds.bytes) bytes")
  }
  let result = bytes.withUnsafeBufferPointer { input in
    Result { () throws(YAMLError) in try YAMLParser(input).document() }
  }
  return try result.get()
}

/// What one libyaml event says, copied out of it.
private enum Token {
  case streamStart, streamEnd, documentStart, documentEnd, sequenceEnd, mappingEnd
  case scalar(String, isPlain: Bool)
  case sequenceStart, mappingStart
}

private final class YAMLParser {
  private let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
  private var nodes = 0

  /// `input` must stay valid for as long as the parser is used.
  init(_ input: UnsafeBufferPointer<UInt8>) throws(YAMLError) {
    guard yaml_parser_initialize(parser) == 1 else {
      parser.deallocate()
      throw YAMLError(mark: YAMLMark(line: 1, column: 1), message: "out of memory")
    }
    yaml_parser_set_input_string(parser, input.baseAddress, input.count)
  }

  deinit {
    yaml_parser_delete(parser)
    parser.deallocate()
  }

  func document() throws(YAMLError) -> YAMLNode? {
    _ = try next()  // stream start
    guard case .documentStart = try next().token else { return nil }
    let (token, mark) = try next()
    let root = try node(token, mark, depth: 0)
    _ = try next()  // document end
    let (end, place) = try next()
    guard case .streamEnd = end else { throw YAMLError(mark: place, message: "a second document is not expected") }
    return root
  }

  private func node(_ token: Token, _ mark: YAMLMark, depth: Int) throws(YAMLError) -> YAMLNode {
    nodes += 1
    guard nodes <= YAMLBounds.nodes else { throw YAMLError(mark: mark, message: "too many values") }
    guard depth < YAMLBounds.depth else { throw YAMLError(mark: mark, message: "nested too deeply") }
    switch token {
    case .scalar(let text, let isPlain): return YAMLNode(content: .scalar(text, isPlain: isPlain), mark: mark)
    case .sequenceStart: return YAMLNode(content: .sequence(try items(depth: depth + 1)), mark: mark)
    case .mappingStart: return YAMLNode(content: .mapping(try entries(depth: depth + 1)), mark: mark)
    default: throw YAMLError(mark: mark, message: "a value is expected here")
    }
  }

  private func items(depth: Int) throws(YAMLError) -> [YAMLNode] {
    var items: [YAMLNode] = []
    while true {
      let (token, mark) = try next()
      if case .sequenceEnd = token { return items }
      items.append(try node(token, mark, depth: depth))
    }
  }

  private func entries(depth: Int) throws(YAMLError) -> [YAMLNode.Entry] {
    var entries: [YAMLNode.Entry] = []
    var lines: [String: Int] = [:]
    while true {
      let (token, mark) = try next()
      if case .mappingEnd = token { return entries }
      guard case .scalar(let key, _) = token else { throw YAMLError(mark: mark, message: "a key must be plain text") }
      if let line = lines.updateValue(mark.line, forKey: key) {
        throw YAMLError(mark: mark, message: "the key \"\(key.shortened)\" stands already in line \(line)")
      }
      let (value, place) = try next()
      entries.append(YAMLNode.Entry(key: key, keyMark: mark, value: try node(value, place, depth: depth)))
    }
  }

  private func next() throws(YAMLError) -> (token: Token, mark: YAMLMark) {
    var event = yaml_event_t()
    guard yaml_parser_parse(parser, &event) == 1 else { throw syntaxError() }
    defer { yaml_event_delete(&event) }
    let mark = YAMLMark(event.start_mark)
    return (try token(of: event, at: mark), mark)
  }

  private func token(of event: yaml_event_t, at mark: YAMLMark) throws(YAMLError) -> Token {
    switch event.type {
    case YAML_STREAM_START_EVENT: return .streamStart
    case YAML_STREAM_END_EVENT: return .streamEnd
    case YAML_DOCUMENT_START_EVENT: return .documentStart
    case YAML_DOCUMENT_END_EVENT: return .documentEnd
    case YAML_SEQUENCE_END_EVENT: return .sequenceEnd
    case YAML_MAPPING_END_EVENT: return .mappingEnd
    case YAML_SEQUENCE_START_EVENT:
      try refuse(anchor: event.data.sequence_start.anchor, tag: event.data.sequence_start.tag, at: mark)
      return .sequenceStart
    case YAML_MAPPING_START_EVENT:
      try refuse(anchor: event.data.mapping_start.anchor, tag: event.data.mapping_start.tag, at: mark)
      return .mappingStart
    case YAML_SCALAR_EVENT:
      let scalar = event.data.scalar
      try refuse(anchor: scalar.anchor, tag: scalar.tag, at: mark)
      let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
      return .scalar(text, isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE)
    default: throw YAMLError(mark: mark, message: "aliases (*name) are not taken: write the value out")
    }
  }

  private func refuse(
    anchor: UnsafeMutablePointer<yaml_char_t>?, tag: UnsafeMutablePointer<yaml_char_t>?, at mark: YAMLMark
  ) throws(YAMLError) {
    if anchor != nil { throw YAMLError(mark: mark, message: "anchors (&name) are not taken: write the value out") }
    if tag != nil { throw YAMLError(mark: mark, message: "tags (!name) are not taken") }
  }

  private func syntaxError() -> YAMLError {
    let failed = parser.pointee
    let problem = failed.problem.map { String(cString: $0) } ?? "not readable as YAML"
    guard failed.error == YAML_SCANNER_ERROR || failed.error == YAML_PARSER_ERROR else {
      // The reader (bad UTF-8, control characters) knows the byte only; lines are counted in what it has taken in.
      return YAMLError(mark: YAMLMark(failed.mark), message: "\(problem) (near byte \(failed.problem_offset))")
    }
    let context = failed.context.map { " " + String(cString: $0) } ?? ""
    return YAMLError(mark: YAMLMark(failed.problem_mark), message: "not valid YAML: \(problem)\(context)")
  }
}

extension YAMLMark {
  fileprivate init(_ mark: yaml_mark_t) {
    self.init(line: Int(clamping: mark.line) + 1, column: Int(clamping: mark.column) + 1)
  }
}
