// Dependency descriptors of one stream: each may bring the structure that the following ones name.
import RTP

@Sendable func readDependencyDescriptors(_ input: Span<UInt8>) {
  var script = Script(input)
  var known: DependencyStructure?
  while let length = script.next() {
    let bytes = script.take(Int(length))
    guard let found = DependencyDescriptor.parse(bytes.span, known: known) else { continue }
    precondition(bytes.count >= 3 && (found.structure != nil || known != nil), "a frame has a template")
    precondition(found.frame.spatialLayer < 8 && found.frame.temporalLayer < 8)
    if let structure = found.structure { check(structure, in: bytes.count) }
    known = found.structure ?? known
    var info = PayloadInfo()
    info.take(found)
    precondition(info.dependencies?.number == found.frameNumber)
  }
}

private func check(_ structure: DependencyStructure, in bytes: Int) {
  precondition((1...DependencyStructure.mostTemplates).contains(structure.templates.count))
  precondition((1...32).contains(structure.decodeTargets) && (0...structure.decodeTargets).contains(structure.chains))
  // Layers, indications and the end of the references take as many bits.
  precondition(structure.templates.count * (3 + 2 * structure.decodeTargets) <= 8 * bytes)
}
