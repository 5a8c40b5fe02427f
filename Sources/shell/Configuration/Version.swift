// The version of this program, in one place.

/// The version of Roost (Semantic Versioning); CHANGELOG.md has a heading for it.
public let roostVersion = "0.1.0"
