// What a WHIP client says of its ICE.
import Basics
import Whip

@Sendable func readFragment(_ input: Span<UInt8>) {
  guard let credentials = readWhipFragment(input.bytes()) else { return }
  precondition((4...256).contains(credentials.ufrag.utf8.count), "a name that an agent takes")
  precondition((22...256).contains(credentials.password.utf8.count), "a password that an agent takes")
  let unsafe = (credentials.ufrag + credentials.password).utf8.contains { $0 <= 0x20 || $0 >= 0x7f || $0 == 0x3d }
  precondition(!unsafe, "nothing that would make another line of an offer")
}
