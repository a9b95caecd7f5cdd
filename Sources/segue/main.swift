import Glibc
import TLSTransport

// A peer that is gone is a fault of one write, not the end of the process.
signal(SIGPIPE, SIG_IGN)
// Before anything else uses the TLS library: its allocator can be chosen only while it has allocated nothing.
LibraryMemory.prepare()
exit(CommandDispatch(root: CommandTable.root).run(Array(CommandLine.arguments.dropFirst())).rawValue)
