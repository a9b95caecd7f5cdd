import Glibc
import TLSTransport

LibraryMemory.prepare()
exit(MicroProgram.run(Array(CommandLine.arguments.dropFirst())))
