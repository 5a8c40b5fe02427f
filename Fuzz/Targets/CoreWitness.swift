// Watches who asks for what and what comes of it: counts where requests get to, and holds the conference to what it has said of blocks.
import RoostProtocol

struct CoreWitness {
  private struct Block: Hashable {
    let user: String
    let blocked: String
  }

  private struct Question: Hashable {
    let token: String
    let id: RequestID
  }

  /// Whose session a token resumes.
  private var users: [String: String] = [:]
  /// Who has blocked whom, with the calls that were known when it began: what rings already rings on.
  private var blocks: [Block: Set<String>] = [:]
  private var questions: Set<Question> = []

  /// Before a request is carried out that comes from the session of `token`. Returns whether its id is new there: another has the
  /// reply of the first, and no effect.
  mutating func ask(_ id: RequestID, _ request: Request, _ token: String?) -> Bool {
    guard let token, let user = users[token] else { return true }
    if case .block(.remove(let params)) = request { blocks[Block(user: user, blocked: params.user)] = nil }
    return questions.insert(Question(token: token, id: id)).inserted
  }

  /// What a reply shows.
  func count(_ request: Request, _ result: Result<Reply, ErrorObject>) {
    if let goal = CoreGoal.of(request, result) { coreGoals.note(goal) }
  }

  /// A hello was granted.
  mutating func admit(_ token: String, _ user: String) { users[token] = user }

  /// A request was granted that was new, and waited for no disk.
  mutating func grant(_ request: Request, _ token: String?, known calls: [String]) {
    guard let user = token.flatMap({ users[$0] }) else { return }
    switch request {
    case .block(.add(let params)):
      let block = Block(user: user, blocked: params.user)
      if blocks[block] == nil { blocks[block] = Set(calls) }
    case .call(.start(let params)):
      if params.to.contains(where: { blocks[Block(user: $0, blocked: user)] != nil }) {
        coreGoals.note(.rangNobodyWhoBlocks)
      }
    default: break
    }
  }

  /// An event for the session of `token`.
  func hear(_ event: Event, _ token: String?) {
    if let goal = CoreGoal.of(event) { coreGoals.note(goal) }
    guard case .callIncoming(let ring) = event, let user = token.flatMap({ users[$0] }) else { return }
    guard let known = blocks[Block(user: user, blocked: ring.from)] else { return }
    precondition(known.contains(ring.call.callId), "who is blocked does not ring")
  }
}
