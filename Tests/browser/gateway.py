class Janus: pass
