// Who is there: users and their devices.

import Members
import RoostProtocol

extension SessionTable {
  /// What is known of each of these users; once of one who is named several times. Of somebody with many devices, and where the answer
  /// would be long, what some devices say of themselves is left out; the oldest sessions come first.
  func presence(of names: [String], isBusy: (String) -> Bool) -> UserQueryResult {
    var answered: Set<String> = []
    var left = ProtocolLimits.capabilitiesBytes
    return UserQueryResult(
      users: names.filter { answered.insert($0).inserted }.map { name in
        let devices = of(name).filter { $0.connection != nil }
        let shown = devices.compactMap(\.device.capabilities).prefix(ProtocolLimits.capabilities).filter {
          let size = $0.encodedSize
          guard size <= left else { return false }
          left -= size
          return true
        }
        return UserPresence(
          user: name, reachable: devices.contains { $0.device.isCallable }, inCall: isBusy(name),
          devices: devices.count,
          capabilities: shown)
      })
  }
}
