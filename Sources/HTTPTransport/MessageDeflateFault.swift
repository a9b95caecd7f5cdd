/// Why a compressed message could not be taken (RFC 7692). After one the inflater is of no more use: the connection has to be failed.
package enum MessageDeflateFault: Error, Hashable, Sendable {
    /// Not deflate data (RFC 1951), or a reference back past the window.
    case corrupt
    /// The message ends inside a block.
    case truncated
    /// The message inflates to more than the limit; nothing past it was produced.
    case tooLarge
    /// zlib failed: out of memory.
    case internalFailure
}
