// What --help says.

extension Command {
  /// The help text about one command, or about all.
  static func help(about topic: Topic?) -> String {
    switch topic {
    case .serve:
      """
      usage: roost serve [--config FILE]

      Serves rooms until it gets SIGINT (Ctrl-C), SIGTERM or SIGHUP: the first one stops it cleanly, within ten seconds
      at most; a second one ends it at once.

      \(configHelp)
      """
    case .check:
      """
      usage: roost check [--config FILE]

      Reads the configuration and says what would be served. When something is wrong with it, says all of it with file,
      line, column and key, and exits with status 1.

      \(configHelp)
      """
    case .doctor:
      """
      usage: roost doctor [--config FILE]

      Looks whether this machine can serve the configuration: ports, UDP buffers, segmentation offload, addresses, TLS
      files, cryptography, limits. Each finding is OK, WARN or FAIL, the last two with a remedy. Exits with status 1 when
      anything is FAIL. A server that runs already holds its ports: stop it first.

      \(configHelp)
      """
    case .token:
      """
      usage: roost token --user NAME [--room ROOM] [--grants A,B] [--name NAME] [--ttl 1h] [--key KID] [--config FILE]

      Makes a token with a key of the configuration (access.keys), and prints it.

        --user NAME         who it is for
        --room ROOM         the one room it is good for, or team-* for all whose names begin so. Without it: every room.
        --grants A,B        what it allows: join, publish:audio, publish:video, publish:screen, subscribe, chat, call,
                            invite, moderate, record, admin. Without it: all but the last three.
        --name NAME         what others see; without it the client chooses
        --ttl TIME          how long it is good, up to 24h; 1h
        --cap NUMBER        how many people there may be in a room or call that it opens
        --key KID           which key, where there are several
        --private-key FILE  for keys of ES256 and Ed25519: the private key, which no server has

      \(configHelp)
      """
    case .version: "usage: roost version\n\nPrints the version."
    case .help: "usage: roost help [COMMAND]\n\nPrints help."
    case nil:
      """
      Roost, a conference server.

      usage: roost COMMAND [--config FILE]

        serve     serve rooms until stopped
        check     check a configuration and say what it serves
        doctor    look whether this machine can serve it, and say how to mend what is wrong
        token     make a token with a key of the configuration
        version   print the version
        help      print help about a command

      \(configHelp)
      """
    }
  }

  private static var configHelp: String {
    """
      --config FILE   the configuration. Without it: ./rooms.yaml, then /etc/roost/rooms.yaml, then the defaults.
    """
  }
}
