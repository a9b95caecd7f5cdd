import Glibc
import TLSTransport

// Before anything else uses the TLS library: its allocator can be chosen only while it has allocated nothing.
LibraryMemory.prepare()
exit(CommandDispatch(root: CommandTable.root).run(Array(CommandLine.arguments.dropFirst())).rawValue)
