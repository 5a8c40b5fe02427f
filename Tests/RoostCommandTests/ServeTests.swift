// The command as a process: it starts, says where, and stops when it is told to.
import Basics
import CLinux
import Foundation
import Testing

@testable import roost

@Suite struct ServeTests {
  @Test(arguments: [SIGTERM, SIGINT, SIGHUP]) func aSignalStopsItCleanly(signal: Int32) throws {
    let ports = try [freePort(), freePort()]
    let file = FileManager.default.temporaryDirectory.appending(path: "roost-\(UUID().uuidString).yaml")
    try "listen: {port: \(ports[0])}\nmedia: {port: \(ports[1]), addresses: [127.0.0.1]}\nstorage: {path: none}\n"
      .write(to: file, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: file) }
    let output = Pipe()
    let server = try start(["serve", "--config", file.path], output)
    let line = firstLine(output)
    kill(server.processIdentifier, signal)
    server.waitUntilExit()
    #expect(line == "Open http://127.0.0.1:\(ports[0])")
    #expect(server.terminationReason == .exit && server.terminationStatus == 0)
  }

  @Test func aWrongConfigurationDoesNotStart() throws {
    let server = try start(["serve", "--config", "/nonexistent/rooms.yaml"], Pipe())
    server.waitUntilExit()
    #expect(server.terminationStatus == 1)
  }

  private func start(_ words: [String], _ output: Pipe) throws -> Process {
    let process = Process()
    process.executableURL = try productsDirectory().appending(path: "roost")
    process.arguments = words
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    return process
  }

  /// The directory of the test program, where the other products are too.
  private func productsDirectory() throws -> URL {
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    return URL(filePath: program).deletingLastPathComponent()
  }

  private func firstLine(_ pipe: Pipe) -> String {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while read(pipe.fileHandleForReading.fileDescriptor, &byte, 1) == 1, byte != 10 { bytes.append(byte) }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func freePort() throws -> UInt16 {
    let loopback = try #require(SocketAddress(host: "127.0.0.1", port: 0))
    let descriptor = clinux_udp_open(loopback.shim, clinux_udp_options())
    try #require(descriptor >= 0)
    defer { _ = clinux_close(descriptor) }
    var address = clinux_address()
    _ = clinux_socket_address(descriptor, &address)
    return address.port
  }
}
