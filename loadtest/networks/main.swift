// make networks: runs the rows, prints the table, writes out/networks/networks.json.
//   networks [--json FILE] [--charts FOLDER] [--seed N] [ID …]      an ID selects the rows that begin with it
//   networks --explore [ID …]                     which mechanisms a row needs
//   networks --cost relaxed|paced [BURST]         what the estimator costs for 20,000 packets, to be run by valgrind

import Glibc
import NetworkScenarios

exit(Command(CommandLine.arguments.dropFirst()).run())
