// The names in a request, each with its field. A field that is no name of somebody or something has no part in it: texts, what others
// see of people, labels, and what the server has made itself. Which are names stands behind their declarations (`// name`).

import RoostProtocol

extension Request {
  /// Whether all names in it are of the form that is let in (`NameForm`).
  /// - Throws: −32602 with the field of the first that is not.
  public func checkNames() throws(ErrorObject) {
    try forEachName { name, field, index throws(ErrorObject) in
      try NameForm.check(name, index.map { "\(field)[\($0)]" } ?? field)
    }
  }
}
