// What a lobby remembers of whom it has decided about.

import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct LobbyTests {
  /// Somebody who has to knock anew, and is admitted anew, is the newest of whom it remembers: not the first to be forgotten.
  @Test func whoIsAdmittedAgainIsRememberedAnew() {
    var lobby = Lobby()
    lobby.decide("anna", isAdmitted: true)
    for number in 1..<Lobby.mostDecided { lobby.decide("user\(number)", isAdmitted: false) }
    lobby.forget("anna")
    #expect(lobby.isAdmitted("anna") == nil)
    lobby.decide("anna", isAdmitted: true)
    #expect(lobby.isAdmitted("anna") == true && lobby.isAdmitted("user1") == false, "there is space for all of them")
    lobby.decide("one more", isAdmitted: true)
    #expect(lobby.isAdmitted("user1") == nil && lobby.isAdmitted("anna") == true, "the oldest makes space")
  }
}
