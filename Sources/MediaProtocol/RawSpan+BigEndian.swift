/// Network-order reads. Each is bounds-checked by the span, which traps: callers compare with `byteCount` first.
extension RawSpan {
    @inlinable
    func byte(at offset: Int) -> UInt8 {
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    @inlinable
    func uint16(at offset: Int) -> UInt16 {
        UInt16(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    @inlinable
    func uint32(at offset: Int) -> UInt32 {
        UInt32(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    @inlinable
    func uint64(at offset: Int) -> UInt64 {
        UInt64(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Stores `value` in network order; the buffer traps when it does not fit.
    @inlinable
    func storeBigEndian<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value, at offset: Int) {
        unsafe storeBytes(of: value.bigEndian, toByteOffset: offset, as: Value.self)
    }
}
