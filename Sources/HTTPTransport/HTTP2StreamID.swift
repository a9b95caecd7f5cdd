/// Names one stream of one HTTP/2 connection (RFC 9113 §5.1.1): 31 bits, odd for streams that the client opened.
package struct HTTP2StreamID: Hashable, Comparable, Sendable {
    package let value: Int32

    @inlinable
    package init(_ value: Int32) {
        self.value = value
    }

    @inlinable
    package static func < (left: HTTP2StreamID, right: HTTP2StreamID) -> Bool {
        left.value < right.value
    }
}
