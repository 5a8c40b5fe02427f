// How many questions for events a realm may have answered at a time.

import Names
import Testing

@testable import Server

@Suite struct ReplayShareTests {
  @Test func aRealmHasItsShareAndNoOthers() throws {
    let (share, clinic) = (ReplayShare(), try #require(Realm("clinic")))
    for _ in 0..<ReplayShare.most { #expect(share.begin(.default)) }
    #expect(!share.begin(.default) && share.begin(clinic))
    share.end(.default)
    #expect(share.begin(.default) && !share.begin(.default))
    for _ in 0..<3 { share.end(clinic) }
    for _ in 0..<ReplayShare.most { #expect(share.begin(clinic)) }
    #expect(!share.begin(clinic), "what was ended too often gives nobody more")
  }
}
