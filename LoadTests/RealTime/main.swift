import Glibc

exit(RealTimeProgram.run(Array(CommandLine.arguments.dropFirst())))
