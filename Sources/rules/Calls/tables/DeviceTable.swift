// The devices of users that are there, and which of them ring.

import RoostProtocol

/// A session, as far as calls care.
struct Device: Equatable, Sendable {
  let user: String
  /// What the client calls it: the same after the next hello.
  let name: String
  let displayName: String
  /// Whether calls shall ring here.
  var isCallable: Bool
  /// Whether its user may call: who may not hears only of calls that ring here, or that this device is in.
  var mayCall = true
  /// The superseded session of the same device, where that has a leg.
  let predecessor: DeviceID?
  var isConnected = true
  /// Whether the media of the leg is lost for the moment.
  var isMediaLost = false

  /// Whether its leg, if it has one, is lost for the moment.
  var isLost: Bool { !isConnected || isMediaLost }
}

/// The devices, by their number and by their user.
struct DeviceTable: Equatable, Sendable {
  private(set) var devices: [DeviceID: Device] = [:]
  private(set) var byUser: [String: [DeviceID]] = [:]

  // MARK: - Change

  /// A device has come.
  mutating func add(_ id: DeviceID, _ device: Device) {
    devices[id] = device
    byUser[device.user, default: []].append(id)
  }

  /// A device has gone.
  mutating func remove(_ id: DeviceID) {
    guard let user = devices.removeValue(forKey: id)?.user else { return }
    byUser[user]?.removeAll { $0 == id }
    if byUser[user]?.isEmpty == true { byUser[user] = nil }
  }

  /// The device has a socket, or has it no more.
  mutating func setConnected(_ id: DeviceID, _ isConnected: Bool) { devices[id]?.isConnected = isConnected }

  /// The device's user may call, or may no more.
  mutating func setMayCall(_ id: DeviceID, _ mayCall: Bool) { devices[id]?.mayCall = mayCall }

  /// The device's session is superseded by the next one: no socket, and nothing rings here.
  mutating func supersede(_ id: DeviceID) {
    devices[id]?.isConnected = false
    devices[id]?.isCallable = false
  }

  /// The media of the device's leg is lost, or found again.
  mutating func setMediaLost(_ id: DeviceID, _ isLost: Bool) { devices[id]?.isMediaLost = isLost }

  /// A leg begins on a device. What was lost of the one before is not lost of this one.
  mutating func beginLeg(on id: DeviceID) { setMediaLost(id, false) }

  // MARK: - Look

  /// A device that is there.
  subscript(id: DeviceID) -> Device? { devices[id] }

  /// Whose device this is.
  /// - Throws: 1003 for a device that is not there.
  func user(of id: DeviceID) throws(ErrorObject) -> String {
    guard let user = devices[id]?.user else { throw ErrorObject(.notLoggedIn) }
    return user
  }

  /// A user's devices, in the order of their coming.
  func all(of user: String) -> [DeviceID] { byUser[user] ?? [] }

  /// Those of them that hear of calls that they have no part in.
  func hearing(of user: String) -> [DeviceID] { all(of: user).filter { devices[$0]?.mayCall == true } }

  /// What a user is called on their first device.
  func displayName(of user: String) -> String? { byUser[user]?.first.flatMap { devices[$0]?.displayName } }

  /// Devices of a user that calls ring on, those included that are about to come back.
  func callable(_ user: String) -> [DeviceID] { all(of: user).filter { devices[$0]?.isCallable == true } }

  /// Those of some devices that a ring goes to: all that take calls and were not told to be silent.
  func targets(of ring: Ring, among ids: [DeviceID]) -> [DeviceID] {
    ids.filter { id in devices[id].map { $0.isCallable && !ring.silenced.contains($0.name) } ?? false }
  }

  /// Whether a socket of the user is open.
  func isConnected(_ user: String) -> Bool { all(of: user).contains { devices[$0]?.isConnected == true } }

  /// Whether any of a user's devices would ring now.
  func isReachable(_ user: String) -> Bool { callable(user).contains { devices[$0]?.isConnected == true } }

  /// Whether any of a user's devices rings now, or would if it had heard of it: none that was told to be silent.
  func isReachable(_ user: String, by ring: Ring) -> Bool { callable(user).contains { rings($0, ring) } }

  /// Whether a device is there that rings, as it has said itself.
  func isHeard(_ ring: Ring) -> Bool { ring.acknowledged.contains { rings($0, ring) } }

  private func rings(_ id: DeviceID, _ ring: Ring) -> Bool {
    guard let device = devices[id] else { return false }
    return device.isConnected && device.isCallable && !ring.silenced.contains(device.name)
  }
}
