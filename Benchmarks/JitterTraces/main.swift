import Glibc

exit(JitterTracesProgram.run(Array(CommandLine.arguments.dropFirst())))
