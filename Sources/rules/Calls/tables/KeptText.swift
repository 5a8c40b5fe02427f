// How what is kept of calls is written as JSON: at every change of every call, so without the containers of `Encoder`.

import RoostProtocol

extension KeptCall: JSONWritable {
  /// The fields, in the order in which they are declared.
  public func writeFields(to json: inout JSONWriter) throws {
    try json.field("call", call)
    json.field("answeredAt", answeredAt)
    json.field("clientCallId", clientCallId)
    try json.field("glareName", encoding: glareName)
    try json.field("members", members)
    try json.field("glareNames", encoding: glareNames)
  }
}

extension KeptCall.Member: JSONWritable {
  func writeFields(to json: inout JSONWriter) throws {
    json.field("user", user)
    try json.field("ring", ring)
    json.field("answeredAt", answeredAt)
    json.field("isOriginal", isOriginal)
    json.field("actorName", actorName)
    json.field("isBlocking", isBlocking)
  }
}

extension RingTerms: JSONWritable {
  func writeFields(to json: inout JSONWriter) {
    json.field("from", from)
    json.field("inProgress", inProgress)
    json.field("extra", extra)
    json.field("push", push)
    json.field("startedAt", startedAt)
    json.field("expiresAt", expiresAt)
    json.field("isPushed", isPushed)
    json.field("isWaiting", isWaiting)
  }
}

extension KeptTombstone: JSONWritable {
  /// The fields, in the order in which they are declared.
  public func writeFields(to json: inout JSONWriter) throws {
    try json.field("call", call)
    json.field("clientCallId", clientCallId)
    try json.field("glareName", encoding: glareName)
    try json.field("glareNames", encoding: glareNames)
  }
}

extension UserRecord: JSONWritable {
  /// The fields, in the order in which they are declared.
  public func writeFields(to json: inout JSONWriter) throws {
    json.field("user", user)
    json.field("device", device)
    try json.field("record", record)
  }
}
