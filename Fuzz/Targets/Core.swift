// JSON-RPC as sequences over the conference: several sockets, requests made by a grammar or byte by byte, resume and replay,
// what the media side and the disk say, and time.
import Basics
import RoostProtocol

@Sendable func runCore(_ input: Span<UInt8>) {
  var script = Script(input)
  let rules = script.next() ?? 0
  let scene = CoreScene(isVerified: rules & 1 != 0, storesRecords: rules & 2 != 0)
  var id = 0
  while let step = script.next() {
    let index = Int(step >> 3) & 7
    switch step & 7 {
    case 0, 1, 2:
      let method = Method.scripted[Int(script.next() ?? 0) % Method.scripted.count]
      id += 1
      scene.send(script.frame(method, id: id, scene.words), on: index)
    case 3: scene.send(script.take(Int(script.next() ?? 0)), on: index)
    case 4: connect(scene, index, script.next() ?? 0, id: &id)
    case 5:
      scene.wait(step & 128 == 0 ? .milliseconds(Int(script.next() ?? 0) * 20) : .seconds(Int(script.next() ?? 0)))
    case 6: tell(scene, script.next() ?? 0, script.next() ?? 0)
    default: scene.repeatLast(on: index)
    }
  }
  scene.end()
}

/// A socket opens, breaks or is closed; or it breaks and its session is resumed on another.
private func connect(_ scene: CoreScene, _ index: Int, _ choice: UInt8, id: inout Int) {
  switch choice & 3 {
  case 0: scene.open(index)
  case 1: scene.close(index, clean: false)
  case 2: scene.close(index, clean: true)
  default:
    guard let socket = scene.sockets[index], let token = socket.token else { return }
    scene.close(index, clean: false)
    id += 1
    let seq = choice & 4 == 0 ? socket.lastSeq : Int(choice >> 3)
    let text =
      "{\"id\":\(id),\"method\":\"session.resume\",\"params\":{\"resumeToken\":\"\(token)\",\"lastSeq\":\(seq)}}"
    scene.send(Array(text.utf8), on: index)
  }
}

private func tell(_ scene: CoreScene, _ choice: UInt8, _ which: UInt8) {
  if choice & 128 != 0 { scene.answerDisk(which & 1 == 0) } else { scene.media(choice, which) }
}
