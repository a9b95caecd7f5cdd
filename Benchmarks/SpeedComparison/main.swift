import Glibc
import TLSTransport

// A server that is gone is a fault of one write, not the end of the comparison.
signal(SIGPIPE, SIG_IGN)
LibraryMemory.prepare()
exit(SpeedComparison.run(Array(CommandLine.arguments.dropFirst())))
