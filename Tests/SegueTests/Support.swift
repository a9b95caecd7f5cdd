@testable import segue

/// Parses the words of one command.
func parse(_ words: [String], _ command: Command) throws -> Arguments { try Arguments.parse(words, command.spec) }
