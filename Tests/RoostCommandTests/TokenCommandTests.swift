// `roost token`, and what `roost check` and `roost serve` say of who may come in.

import Configuration
import Foundation
import RoostProtocol
import TestSupport
import Testing
import Tokens

@testable import roost

@Suite struct TokenCommandTests {
  private static let secret = "Zm9yIHRoZSB0ZXN0cyBvZiByb29zdCBhbG9uZQ"
  private static let keys = "access: {keys: [{kid: a, alg: HS256, secret: \(secret)}], issuer: app, audience: conf}\n"

  private func claims(_ token: String, _ file: String) throws -> TokenClaims {
    let access = try ServerConfiguration.load(file: file).access
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    return try access.verifier().verify(token.trimmingCharacters(in: .newlines), at: now)
  }

  @Test func aTokenSaysWhatWasAskedFor() throws {
    let folder = try TemporaryFolder()
    let file = try folder.write(Self.keys + "storage: {path: none}\n")
    let words = [
      "--user", "anna@example.org", "--name", "Anna A.", "--room", "team-*", "--grants", "join,publish:screen", "--ttl",
      "90m", "--cap", "7",
    ]
    let outcome = try Outcome(["token", "--config", file] + words)
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.output.split(separator: "\n").count == 1, "nothing else is printed where a script reads")
    let claims = try claims(outcome.output, file)
    #expect(claims.user == "anna@example.org" && claims.name == "Anna A." && claims.room == .prefix("team-"))
    #expect(claims.grants == [.join, .publishScreen] && claims.cap == 7 && claims.issuer == "app")
    let left = claims.expiresAt - Int64(Date().timeIntervalSince1970 * 1000)
    #expect((5_300_000...5_400_000).contains(left))
    let id = try #require(claims.id)
    #expect(outcome.errors.contains("revoked: [\(id)]"))
    #expect(!(outcome.output + outcome.errors).contains(Self.secret))
  }

  @Test func theUsualTokenIsAParticipants() throws {
    let folder = try TemporaryFolder()
    let file = try folder.write(Self.keys)
    let outcome = try Outcome(["token", "--config", file, "--user", "anna"])
    let claims = try claims(outcome.output, file)
    #expect(claims.grants == Set(TokenRequest.usualGrants) && claims.room == nil && claims.name == nil)
    #expect(claims.grants.isDisjoint(with: [.moderate, .record, .admin]))
  }

  @Test func whatIsMissingIsSaid() throws {
    let folder = try TemporaryFolder()
    let open = try folder.write("access: open\n", to: "open.yaml")
    let none = try Outcome(["token", "--config", open, "--user", "anna"])
    #expect(none.status == 1 && none.output.isEmpty && none.errors.contains("access.keys"), "\(none.errors)")
    let two = try folder.write(
      "access: {keys: [{kid: a, alg: HS256, secret: \(Self.secret)}, {kid: b, alg: HS256, secret: \(Self.secret)2}]}\n")
    let which = try Outcome(["token", "--config", two, "--user", "anna"])
    #expect(which.status == 1 && which.errors.contains("a, b with --key"), "\(which.errors)")
    let other = try Outcome(["token", "--config", two, "--user", "anna", "--key", "c"])
    #expect(other.status == 1 && other.errors.contains("no key is called \"c\""), "\(other.errors)")
    let second = try Outcome(["token", "--config", two, "--user", "anna", "--key", "b"])
    #expect(try claims(second.output, two).user == "anna")
  }

  /// Whoever starts a server that strangers reach has to say who may come in.
  @Test(arguments: ["serve", "check"]) func aServerForStrangersSaysWhoMayComeIn(command: String) throws {
    let folder = try TemporaryFolder()
    let listen =
      "listen: {address: 0.0.0.0, port: \(try freePort())}\nmedia: {port: \(try freePort())}\nstorage: {path: none}\n"
    let file = try folder.write(listen)
    let refused = try Outcome([command, "--config", file])
    #expect(refused.status == 1 && refused.errors.contains("access: listen.address"), "\(refused.errors)")
    #expect(refused.errors.contains("access: open"))
    let checked = try Outcome(["check", "--config", folder.write(listen + "access: open\n")])
    #expect(checked.status == 0 && checked.output.contains("access:        open"))
  }

  @Test func checkTellsOfWeakKeysWithoutThem() throws {
    let folder = try TemporaryFolder()
    let weak = "password-password-password-of-the-server"
    let outcome = try Outcome([
      "check", "--config", folder.write("access: {keys: [{kid: k, alg: HS256, secret: \(weak)}]}\n"),
    ])
    #expect(outcome.status == 0 && outcome.output.contains("warning:       access.keys[1].secret: has words"))
    #expect(outcome.output.contains("who shows a token of k (HS256)"))
    let short = try Outcome(["check", "--config", folder.write("access: {keys: [{alg: HS256, secret: hunter2}]}\n")])
    #expect(short.status == 1 && short.errors.contains("needs 32 bytes or more, and this one has 7"))
    for text in [outcome.output, outcome.errors, short.output, short.errors] {
      #expect(!text.contains("password-p") && !text.contains("hunter2"))
    }
  }
}
