import Basics
import STUN
import Testing

@testable import ICE

@Suite struct ICELiteAgentTests {
  @Test(arguments: [home, six])
  func anAuthenticCheckIsAnsweredWithItsSource(source: SocketAddress) throws {
    var agent = ICELiteAgent.atServer()
    let answer = try agent.take(Check(), from: source, at: seconds(1))
    #expect(answer.isSuccess && answer.event == nil)
    #expect(answer.mappedAddress == source)
    #expect(try answer.isAuthentic(server.password))
    let id = try MessageView.parse(answer.bytes.span).transactionID
    #expect(id == Check().id)
    #expect(agent.selected == nil)
    #expect(agent.isValidated(source, at: seconds(1)) == true)
    #expect(agent.nextDeadline == .distantFuture)
  }

  @Test func nominationConnectsOnce() throws {
    var agent = ICELiteAgent.atServer()
    agent.setRemote(ufrag: client.ufrag)
    #expect(try agent.take(Check(nominates: true), from: home, at: seconds(1)).event == .connected(home))
    #expect(try agent.take(Check(nominates: true), from: home, at: seconds(2)).event == nil)
    #expect(agent.selected == home)
    #expect(agent.nextDeadline == seconds(12))
  }

  /// Aggressive nomination (RFC 5245 §8.1.1.2): a peer that nominates all that it checks means the path of the highest priority. Of others
  /// the latest nomination counts.
  @Test(arguments: [true, false]) func theHighestPriorityWins(_ nominatesAll: Bool) throws {
    var agent = ICELiteAgent.atServer()
    agent.setRemote(ufrag: client.ufrag, nominatesAll: nominatesAll)
    let (host, relay) = (Check(nominates: true, priority: 2_130_706_431), Check(nominates: true, priority: 16_777_215))
    _ = try agent.take(relay, from: away, at: seconds(1))
    #expect(try agent.take(host, from: home, at: seconds(1)).event == .moved(from: away, to: home))
    let answer = try agent.take(relay, from: away, at: seconds(2))
    #expect(answer.event == (nominatesAll ? nil : .moved(from: home, to: away)))
    #expect(answer.isSuccess && agent.selected == (nominatesAll ? home : away))
    guard nominatesAll else { return }
    // Equal ones: a new address of the same network.
    #expect(try agent.take(host, from: six, at: seconds(3)).event == .moved(from: home, to: six))
    // The better path is silent: the other will do, and does until a nomination of the better one.
    #expect(try agent.take(relay, from: away, at: seconds(8)).event == .moved(from: six, to: away))
    #expect(try agent.take(host, from: home, at: seconds(9)).event == .moved(from: away, to: home))
  }

  /// Chromium says neither `ice2` nor `renomination`, and nominates what it has selected in each check there. Where it changes its mind
  /// for a path of a lower priority, media goes there with the second of these, though the old one goes on being heard.
  @Test func whoChecksWithoutNominatingMayChangeItsMind() throws {
    var agent = ICELiteAgent.atServer()
    agent.setRemote(ufrag: client.ufrag, nominatesAll: true)
    var (host, relay) = (Check(priority: 2_130_706_431), Check(priority: 16_777_215))
    #expect(try agent.take(host, from: home, at: seconds(1)).event == nil)
    host.nominates = true
    #expect(try agent.take(host, from: home, at: seconds(1)).event == .connected(home))
    // An offer of another track changes nothing of that.
    agent.setRemote(ufrag: client.ufrag, nominatesAll: true)
    relay.nominates = true
    #expect(try agent.take(relay, from: away, at: seconds(2)).event == nil, "once may be one of all")
    #expect(try agent.take(host, from: home, at: seconds(2)).event == nil)
    #expect(try agent.take(relay, from: away, at: seconds(2)).event == nil, "both are nominated: the highest wins")
    host.nominates = false
    #expect(try agent.take(host, from: home, at: seconds(3)).event == nil)
    #expect(try agent.take(relay, from: away, at: seconds(3)).event == nil, "a copy says nothing new")
    relay.id = TransactionID(high: 1, low: 3)
    #expect(try agent.take(relay, from: away, at: seconds(3)).event == .moved(from: home, to: away))
    #expect(agent.selected == away)
    // Nor does a copy once the client has shown that it refreshes consent.
    for second in 4...9 {
      relay.id = TransactionID(high: 2, low: UInt64(second))
      _ = try agent.take(relay, from: away, at: seconds(Double(second)))
    }
    let isKept = agent.refreshesConsent
    #expect(isKept)
    (host.nominates, host.priority, host.id) = (true, 1, TransactionID(high: 3, low: 101))
    for _ in 0..<3 { #expect(try agent.take(host, from: home, at: seconds(9.5)).event == nil) }
    host.id = TransactionID(high: 3, low: 102)
    #expect(try agent.take(host, from: home, at: seconds(9.5)).event == .moved(from: away, to: home))
    relay.id = TransactionID(high: 3, low: 103)
    #expect(try agent.take(relay, from: away, at: seconds(9.5)).event == .moved(from: home, to: away))
    host.priority = 2_130_706_431
    // Whoever comes with new credentials is judged anew.
    agent.restart(local: ICECredentials(ufrag: "serv2", password: server.password))
    agent.setRemote(ufrag: client.ufrag, nominatesAll: true)
    (host.username, relay.username) = ("serv2:clnt", "serv2:clnt")
    host.nominates = true
    #expect(try agent.take(host, from: home, at: seconds(10)).event == .moved(from: away, to: home))
    #expect(try agent.take(relay, from: away, at: seconds(11)).event == nil)
  }

  /// FFmpeg's WHIP muxer sends neither PRIORITY nor ICE-CONTROLLING. A lite agent needs neither of them.
  @Test func aCheckWithoutPriorityAndRoleNominates() throws {
    var agent = ICELiteAgent.atServer()
    agent.setRemote(ufrag: client.ufrag)
    let check = Check(nominates: true, controlling: nil, hasPriority: false)
    let answer = try agent.take(check, from: home, at: seconds(1))
    #expect(answer.event == .connected(home))
    #expect(try answer.isAuthentic(server.password))
  }

  /// What is wrong with a check, what comes back, and why.
  @Test(
    arguments: [
      (Check(hasFingerprint: false), nil, .badFingerprint), (Check(isSigned: false), 400, .incomplete),
      (Check(hasUsername: false), 400, .incomplete), (Check(username: "serv"), 401, .wrongUsername),
      (Check(username: "serv:"), 401, .wrongUsername), (Check(username: ":clnt"), 401, .wrongUsername),
      (Check(username: "serw:clnt"), 401, .wrongUsername), (Check(username: "clnt:serv"), 401, .wrongUsername),
      (Check(username: "server:clnt"), 401, .wrongUsername), (Check(username: "serv:other"), 401, .wrongUsername),
      (Check(username: "serv:clnt2"), 401, .wrongUsername), (Check(password: client.password), 401, .wrongIntegrity),
      (Check(password: server.password, hasUnknownAttribute: true), 420, .unknownAttribute),
      (Check(controlling: nil, controlled: 0), 487, .roleConflict),
      (Check(controlling: nil, controlled: .max), 487, .roleConflict), (Check(type: .success), nil, .unexpected),
      (Check(type: .error), nil, .unexpected), (Check(type: .indication), nil, .unexpected),
    ] as [(Check, Int?, ICEDropReason)])
  func wrongChecksAreRefused(check: Check, code: Int?, reason: ICEDropReason) throws {
    var agent = ICELiteAgent.atServer()
    agent.setRemote(ufrag: client.ufrag)
    var nominating = check
    nominating.nominates = true
    let answer = try agent.take(nominating, from: home, at: seconds(1))
    #expect(answer.errorCode == code)
    switch answer.action {
    case .ignored(let why): #expect(why == reason && code == nil)
    case .refused(_, let why): #expect(why == reason && code != nil)
    case .reply: Issue.record("was accepted")
    }
    #expect(agent.selected == nil && !agent.isValidated(home, at: seconds(1)))
    // Only who proved to know the password gets a signed answer.
    if let code { #expect(try answer.isAuthentic(server.password) == (code == 420 || code == 487)) }
  }

  @Test func theUnknownAttributeIsNamed() throws {
    var agent = ICELiteAgent.atServer()
    let answer = try agent.take(Check(hasUnknownAttribute: true), from: home, at: seconds(1))
    #expect(answer.bytes[28..<34].elementsEqual([0x00, 0x0a, 0x00, 0x02, 0x7f, 0x01]))
  }

  @Test func checksBeforeTheAnswerAreAnsweredAndRemembered() throws {
    var agent = ICELiteAgent.atServer()
    #expect(try agent.take(Check(nominates: true), from: home, at: seconds(1)).event == .connected(home))
    agent.setRemote(ufrag: client.ufrag)
    #expect(agent.selected == home)
    #expect(try agent.take(Check(username: "serv:other"), from: home, at: seconds(2)).errorCode == 401)
  }

  @Test func theLatestNominationWins() throws {
    var agent = ICELiteAgent.atServer()
    #expect(try agent.take(Check(nominates: true), from: home, at: seconds(1)).event == .connected(home))
    #expect(try agent.take(Check(), from: away, at: seconds(1.1)).event == nil)
    #expect(agent.selected == home)
    #expect(try agent.take(Check(nominates: true), from: away, at: seconds(1.2)).event == .moved(from: home, to: away))
    #expect(try agent.take(Check(nominates: true), from: six, at: seconds(1.3)).event == .moved(from: away, to: six))
    #expect(agent.selected == six)
    #expect(agent.isValidated(home, at: seconds(1.3)) && agent.isValidated(away, at: seconds(1.3)) == true)
  }

  @Test func anotherValidAddressTakesOverFromASilentOne() throws {
    var agent = ICELiteAgent.atServer()
    #expect(try agent.take(Check(nominates: true), from: home, at: seconds(0)).event == .connected(home))
    #expect(try agent.take(Check(), from: away, at: seconds(3.9)).event == nil)
    #expect(try agent.take(Check(), from: home, at: seconds(3.95)).event == nil)
    #expect(try agent.take(Check(), from: away, at: seconds(7.9)).event == nil)
    #expect(try agent.take(Check(), from: away, at: seconds(7.95)).event == .moved(from: home, to: away))
    #expect(agent.nextDeadline == seconds(17.95))
  }

  @Test func consentExpiresOnceAndComesBack() throws {
    var agent = ICELiteAgent.atServer()
    #expect(try agent.take(Check(nominates: true), from: home, at: seconds(0)).event == .connected(home))
    #expect(try agent.take(Check(), from: home, at: seconds(6)).event == nil)
    #expect(agent.poll(at: seconds(15.9), carryingSince: .zero) == nil)
    #expect(agent.selected == home)
    #expect(agent.poll(at: seconds(16), carryingSince: .zero) == .consentExpired)
    #expect(agent.poll(at: seconds(30), carryingSince: .zero) == nil)
    #expect(agent.selected == nil && agent.nextDeadline == .distantFuture)
    #expect(agent.isValidated(home, at: seconds(16)) == false)
    #expect(try agent.take(Check(), from: away, at: seconds(31)).event == .recovered(away))
    #expect(agent.poll(at: seconds(41), carryingSince: .zero) == .consentExpired)
  }

  @Test func mediaKeepsConsentAsChecksDo() throws {
    var agent = ICELiteAgent.atServer()
    _ = try agent.take(Check(nominates: true), from: home, at: seconds(0))
    for time in 1...60 {
      agent.heardSelected(at: seconds(Double(time)))
      #expect(agent.poll(at: seconds(Double(time) + 0.9), carryingSince: .zero) == nil)
    }
    #expect(agent.isValidated(home, at: seconds(69.9)) == true)
    #expect(agent.poll(at: seconds(70), carryingSince: .zero) == .consentExpired)
  }

  @Test func silenceCountsOnlyWhileMediaFlows() throws {
    var agent = ICELiteAgent.atServer()
    _ = try agent.take(Check(nominates: true), from: home, at: seconds(0))
    for time in stride(from: 10.0, through: 600, by: 10) {
      #expect(agent.poll(at: seconds(time), carryingSince: nil) == nil)
    }
    #expect(agent.selected == home)
    #expect(agent.nextDeadline == seconds(610))
    #expect(agent.poll(at: seconds(610), carryingSince: seconds(604)) == nil)
    #expect(agent.nextDeadline == seconds(614))
    #expect(agent.poll(at: seconds(614), carryingSince: seconds(604)) == .consentExpired)
  }

  @Test func mediaFromAnotherCheckedAddressTakesOverFromASilentOne() throws {
    var agent = ICELiteAgent.atServer()
    _ = try agent.take(Check(), from: away, at: seconds(0))
    _ = try agent.take(Check(nominates: true), from: home, at: seconds(0))
    #expect(agent.heard(away, at: seconds(3.9)) == nil)
    #expect(agent.heard(six, at: seconds(4)) == nil, "it has passed no check")
    #expect(agent.heard(away, at: seconds(4)) == .moved(from: home, to: away))
    #expect(agent.selected == away && agent.nextDeadline == seconds(14))
  }

  @Test func mediaMayBeginBeforeTheNominationAndFollowsIt() throws {
    var agent = ICELiteAgent.atServer()
    #expect(agent.begin(on: home, at: seconds(0)) == false, "it has passed no check")
    _ = try agent.take(Check(), from: home, at: seconds(0))
    #expect(agent.begin(on: home, at: seconds(0.1)) == true)
    #expect(agent.selected == home)
    #expect(agent.begin(on: home, at: seconds(0.2)) == false, "it has begun")
    #expect(try agent.take(Check(), from: away, at: seconds(0.3)).event == nil)
    #expect(try agent.take(Check(nominates: true), from: away, at: seconds(0.4)).event == .moved(from: home, to: away))
    #expect(agent.poll(at: seconds(10.4), carryingSince: .zero) == .consentExpired)
    #expect(agent.begin(on: away, at: seconds(11)) == false, "an expired peer has to check again")
  }

  @Test func mediaFromTheLastAddressBringsConsentBack() throws {
    var agent = ICELiteAgent.atServer()
    _ = try agent.take(Check(), from: away, at: seconds(0))
    _ = try agent.take(Check(nominates: true), from: home, at: seconds(0))
    #expect(agent.poll(at: seconds(10), carryingSince: .zero) == .consentExpired)
    #expect(agent.heard(away, at: seconds(11)) == nil, "media did not go there")
    #expect(agent.isValidated(home, at: seconds(11)) == false)
    #expect(agent.heard(home, at: seconds(11)) == .recovered(home))
    #expect(agent.selected == home && agent.isValidated(home, at: seconds(11)) == true)
    #expect(agent.nextDeadline == seconds(21))
    #expect(agent.heard(home, at: seconds(12)) == nil)
    #expect(agent.poll(at: seconds(22), carryingSince: .zero) == .consentExpired)
  }

  @Test func theLastAddressCountsNoMoreOnceItIsAnothersOrACheckCameFromElsewhere() throws {
    var agent = ICELiteAgent.atServer()
    _ = try agent.take(Check(nominates: true), from: home, at: seconds(0))
    agent.expire()
    #expect(agent.heard(home, at: seconds(1)) == nil)
    #expect(try agent.take(Check(), from: away, at: seconds(2)).event == .recovered(away))
    #expect(agent.poll(at: seconds(12), carryingSince: .zero) == .consentExpired)
    #expect(try agent.take(Check(), from: home, at: seconds(13)).event == .recovered(home))
    #expect(agent.heard(away, at: seconds(18)) == nil)
    #expect(agent.selected == home)
  }

  @Test func nothingUnauthenticKeepsConsent() throws {
    var agent = ICELiteAgent.atServer()
    _ = try agent.take(Check(nominates: true), from: home, at: seconds(0))
    _ = try agent.take(Check(password: "x"), from: home, at: seconds(9))
    _ = try agent.take(Check(controlling: nil, controlled: 1), from: home, at: seconds(9))
    #expect(agent.nextDeadline == seconds(10))
  }

  @Test func theConsentTimeoutIsTheCallers() throws {
    var agent = ICELiteAgent(
      local: server, consentTimeout: .milliseconds(300))
    _ = try agent.take(Check(nominates: true), from: home, at: seconds(1))
    #expect(agent.nextDeadline == seconds(1.3))
    #expect(agent.poll(at: seconds(1.3), carryingSince: .zero) == .consentExpired)
  }

  @Test func validationEndsWithTheConsentTimeout() throws {
    var agent = ICELiteAgent.atServer()
    _ = try agent.take(Check(), from: home, at: seconds(1))
    #expect(agent.isValidated(home, at: seconds(10.9)) == true)
    #expect(agent.isValidated(home, at: seconds(11)) == false)
    #expect(agent.isValidated(away, at: seconds(1)) == false)
  }

  @Test func remembersSixteenAddressesAndNeverForgetsTheSelected() throws {
    var agent = ICELiteAgent.atServer()
    _ = try agent.take(Check(nominates: true), from: home, at: seconds(0))
    for index in 0..<40 {
      let address = SocketAddress(v4: UInt32(index), port: 1)
      #expect(try agent.take(Check(), from: address, at: seconds(1 + Double(index) / 100)).isSuccess)
    }
    #expect(agent.isValidated(home, at: seconds(2)) == true)
    let known = (0..<40).filter { agent.isValidated(SocketAddress(v4: UInt32($0), port: 1), at: seconds(2)) }
    #expect(known == Array(25..<40))
  }

  @Test func aRestartKeepsTheOldCredentialsUntilTheNewAreUsed() throws {
    var agent = ICELiteAgent.atServer()
    agent.setRemote(ufrag: client.ufrag)
    _ = try agent.take(Check(nominates: true), from: home, at: seconds(0))
    agent.restart(local: ICECredentials(ufrag: "serv2", password: "2222222222222222222222"))
    let new = Check(username: "serv2:clnt2", password: "2222222222222222222222")
    // The old peer's credentials do not bind the new generation.
    #expect(try agent.take(Check(), from: home, at: seconds(1)).isSuccess)
    #expect(try agent.take(Check(username: "serv2:clnt2"), from: home, at: seconds(1)).errorCode == 401)
    #expect(try agent.take(Check(), from: home, at: seconds(1)).isSuccess)
    let answer = try agent.take(new, from: away, at: seconds(2))
    #expect(answer.isSuccess && answer.event == nil)
    #expect(try answer.isAuthentic("2222222222222222222222"))
    #expect(agent.selected == home)
    #expect(try agent.take(Check(nominates: true), from: home, at: seconds(2)).errorCode == 401)
    var nominating = new
    nominating.nominates = true
    #expect(try agent.take(nominating, from: away, at: seconds(3)).event == .moved(from: home, to: away))
    agent.setRemote(ufrag: "clnt2")
    #expect(try agent.take(nominating, from: away, at: seconds(4)).isSuccess)
    nominating.username = "serv2:clnt"
    #expect(try agent.take(nominating, from: away, at: seconds(5)).errorCode == 401)
  }

  @Test func theRemoteOfARestartMayComeBeforeItsFirstCheck() throws {
    var agent = ICELiteAgent.atServer()
    agent.setRemote(ufrag: client.ufrag)
    agent.restart(local: ICECredentials(ufrag: "serv2", password: "2222222222222222222222"))
    agent.setRemote(ufrag: "clnt2")
    #expect(try agent.take(Check(nominates: true), from: home, at: seconds(0)).event == .connected(home))
    let wrong = Check(username: "serv2:clnt", password: "2222222222222222222222")
    #expect(try agent.take(wrong, from: home, at: seconds(1)).errorCode == 401)
    let right = Check(username: "serv2:clnt2", password: "2222222222222222222222")
    #expect(try agent.take(right, from: home, at: seconds(1)).isSuccess)
  }

  @Test func aRestartInARestartGivesUpTheUnusedCredentials() throws {
    var agent = ICELiteAgent.atServer()
    #expect(agent.localUfrags == ["serv"])
    agent.restart(local: ICECredentials(ufrag: "serv2", password: "2222222222222222222222"))
    agent.restart(local: ICECredentials(ufrag: "serv3", password: "3333333333333333333333"))
    #expect(agent.localUfrags == ["serv", "serv3"])
    let abandoned = Check(username: "serv2:x", password: "2222222222222222222222")
    #expect(try agent.take(abandoned, from: home, at: seconds(0)).errorCode == 401)
    #expect(try agent.take(Check(), from: home, at: seconds(0)).isSuccess)
    let newest = Check(username: "serv3:x", password: "3333333333333333333333")
    #expect(try agent.take(newest, from: home, at: seconds(0)).isSuccess)
    #expect(agent.localUfrags == ["serv3"])
  }

  @Test func aShortReplyBufferIsNoCrash() throws {
    let message = try Check(nominates: true).bytes
    for capacity in 0..<64 {
      var agent = ICELiteAgent.atServer()
      var buffer = [UInt8](repeating: 0, count: capacity)
      var reply = buffer.mutableSpan
      #expect(
        agent.handle(message.span, from: home, isKnown: false, at: seconds(0), reply: &reply) == .ignored(.noRoom))
      #expect(agent.selected == nil)
    }
  }

  @Test func damagedChecksNeverCountOrTrap() throws {
    let good = try Check(nominates: true).bytes
    var agent = ICELiteAgent.atServer()
    for bit in 0..<(good.count * 8) {
      var bytes = good
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(agent.take(bytes, from: home, at: seconds(0)).isSuccess == false)
    }
    for length in 0..<good.count {
      #expect(agent.take(Array(good[..<length]), from: home, at: seconds(0)).action == .ignored(.malformed))
    }
    #expect(agent.selected == nil)
  }

  @Test func credentialsAreLongEnoughAndDiffer() {
    var random = SplitMix64(seed: 1)
    let many = (0..<200).map { _ in ICECredentials.random(using: &random) }
    let allowed = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    #expect(Set(many.map(\.ufrag)).count == 200 && Set(many.map(\.password)).count == 200)
    // Six bits a character: 24 and 128 are asked for.
    #expect(many.allSatisfy { $0.ufrag.count * 6 >= 24 && $0.password.count * 6 >= 128 })
    #expect(many.allSatisfy { allowed.isSuperset(of: $0.ufrag + $0.password) })
  }

  @Test(
    arguments: [
      ("serv:clnt", "serv"), ("serv:a:b", "serv"), ("0123456789abcdef:x", "0123456789abcdef"), ("serv", nil),
      (":x", nil),
      ("0123456789abcdefg:x", nil),
    ] as [(String, String?)])
  func theRecipientIsFoundInTheUsername(username: String, ufrag: String?) throws {
    let bytes = try Check(username: username).bytes
    let key = UfragKey(recipientOf: try MessageView.parse(bytes.span), bytes.span)
    #expect(key == ufrag.flatMap { UfragKey($0) })
    #expect((key == nil) == (ufrag == nil))
  }

  @Test func keysOfDifferentFragmentsDiffer() {
    let texts = ["a", "b", "aa", "\0a", "abcdefgh", "abcdefghi", "bcdefghi"]
    #expect(Set(texts.compactMap { UfragKey($0) }).count == texts.count)
  }

  // MARK: peers that refresh consent

  private func check(_ number: UInt64) -> Check { Check(id: TransactionID(high: 1, low: number)) }

  /// When its checks come, and whether more are to be expected by then: two, a second and more apart, behind the nomination. Those that come
  /// further apart than consent lasts promise nothing.
  @Test(
    arguments: [
      ([2.5, 5], true), ([6, 12], true), ([1, 2], true), ([0.2, 0.4, 0.6, 0.8, 0.9], false), ([5], false),
      ([0.5, 1.2, 1.9], false), ([15, 30, 45, 60], false), ([15, 20, 25], true), ([], false),
    ] as [([Double], Bool)])
  func checksThatGoOnAreExpectedToGoOn(_ times: [Double], isKept: Bool) throws {
    var agent = ICELiteAgent.atServer()
    _ = try agent.take(Check(nominates: true), from: home, at: seconds(0))
    for (number, time) in times.enumerated() {
      _ = try agent.take(check(UInt64(100 + number)), from: home, at: seconds(time))
    }
    #expect(agent.refreshesConsent == isKept)
    let last = times.last ?? 0
    #expect(agent.poll(at: seconds(last + 9.9), carryingSince: nil) == nil)
    #expect(agent.poll(at: seconds(last + 10), carryingSince: nil) == (isKept ? .consentExpired : nil))
  }

  /// The nomination that is sent again, and whatever was seen before, is no new check. Nor is one on another path.
  @Test func copiesAndOtherPathsPromiseNothing() throws {
    var agent = ICELiteAgent.atServer()
    _ = try agent.take(Check(nominates: true), from: home, at: seconds(0))
    _ = try agent.take(check(7), from: home, at: seconds(1))
    for time in 2...9 {
      for copy in [Check(nominates: true), check(7)] { _ = try agent.take(copy, from: home, at: seconds(Double(time))) }
      _ = try agent.take(check(UInt64(100 + time)), from: away, at: seconds(Double(time)))
    }
    #expect(agent.refreshesConsent == false)
  }

  /// Another generation may be another agent.
  @Test func aRestartPromisesNothing() throws {
    var agent = ICELiteAgent.atServer()
    _ = try agent.take(Check(nominates: true), from: home, at: seconds(0))
    for time in 1...3 { _ = try agent.take(check(UInt64(100 + time)), from: home, at: seconds(Double(time) * 2)) }
    #expect(agent.refreshesConsent == true)
    agent.restart(local: ICECredentials(ufrag: "next", password: "nextnextnextnextnextnext"))
    #expect(agent.refreshesConsent == true)
    let next = Check(username: "next:clnt", password: "nextnextnextnextnextnext", nominates: true)
    _ = try agent.take(next, from: home, at: seconds(8))
    #expect(agent.refreshesConsent == false)
  }
}
