import Glibc

exit(EmulatorProgram.run(Array(CommandLine.arguments.dropFirst())))
