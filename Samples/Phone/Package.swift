// swift-tools-version: 6.2
// A sample to copy: what an app on a phone adds to RoostClient. Here it stands beside the repository. In a project of its own, `path`
// becomes the repository's address, and a package with WebRTC.xcframework joins the dependencies: then `WebRTCEngine.swift` is built too.
import PackageDescription

let package = Package(
  name: "PhoneSample",
  platforms: [.macOS(.v13), .iOS(.v16)],
  products: [.library(name: "PhoneSample", targets: ["PhoneSample"])],
  dependencies: [.package(name: "roost", path: "../..")],
  targets: [
    .target(
      name: "PhoneSample", dependencies: [.product(name: "RoostClient", package: "roost")], path: "Sources",
      swiftSettings: [.swiftLanguageMode(.v6)])
  ]
)
