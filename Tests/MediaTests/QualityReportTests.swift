// What workers tell of their connections every two seconds.

import Basics
import Media
import Testing

@Suite struct QualityReportTests {
  private func reports(_ call: Call, of peer: VirtualPeer) -> [TransportQuality] {
    let all = call.events.flatMap { event -> [TransportQuality] in
      if case .quality(let all) = event.event { all } else { [] }
    }
    return all.filter { $0.transport == peer.key }
  }

  @Test func lossesOfEachWayAreTold() throws {
    let call = try Call()
    let (anna, bert, cleo) = (try call.join("anna"), try call.join("bert"), try call.join("cleo"))
    (bert.reportsArrivals, cleo.reportsArrivals) = (true, true)
    let tracks = [call.publish(anna, .video), call.publish(anna, .audio)]
    for track in tracks { for peer in [bert, cleo] { _ = call.subscribe(peer, to: track) } }
    anna.uplink.loss = 0.1
    bert.downlink.loss = 0.2
    call.run(.seconds(4))
    call.forgetEvents()
    call.run(.seconds(20))
    let (up, down, good) = (reports(call, of: anna), reports(call, of: bert), reports(call, of: cleo))
    #expect((9...11).contains(up.count), "one each two seconds")
    let share = { (ways: [FlowQuality]) in
      Double(ways.reduce(0) { $0 + $1.lost }) / Double(max(1, ways.reduce(0) { $0 + $1.expected }))
    }
    #expect(abs(share(up.flatMap { $0.tracks.map(\.flow) }) - 0.1) < 0.03)
    #expect(abs(share(down.map(\.down)) - 0.2) < 0.05)
    #expect(share(good.map(\.down)) < 0.01, "the control: what the publisher loses is no loss of this line")
    #expect(Set(up[0].tracks.map(\.producer)) == Set(tracks))
    #expect(up.allSatisfy { $0.tracks.allSatisfy { $0.flow.rate > 10_000 } })
    #expect(down.allSatisfy { $0.roundTrip != nil && $0.down.rate > 10_000 && !$0.isSilent })
  }

  @Test func silenceIsTold() throws {
    let call = try Call()
    let (anna, bert) = (try call.join("anna"), try call.join("bert"))
    bert.reportsArrivals = true
    _ = call.subscribe(bert, to: call.publish(anna, .video))
    call.run(.seconds(4))
    #expect(reports(call, of: bert).allSatisfy { !$0.isSilent })
    (bert.uplink.isCut, bert.downlink.isCut) = (true, true)
    call.run(.seconds(6))
    #expect(reports(call, of: bert).last?.isSilent == true)
    #expect(reports(call, of: anna).last?.isSilent == false)
  }
}
