/// A block of samples of fixed size: what works on sound 100 times a second keeps its samples here, and allocates once.
@safe
struct SampleBlock: ~Copyable {
    private let block: UnsafeMutableBufferPointer<Float>
    /// Where the samples are, as long as the block is.
    let base: UnsafeMutablePointer<Float>

    /// - Parameter count: of samples, all 0 at first.
    init(count: Int) {
        unsafe base = .allocate(capacity: count)
        unsafe base.initialize(repeating: 0, count: count)
        unsafe block = UnsafeMutableBufferPointer(start: base, count: count)
    }

    deinit { unsafe base.deallocate() }

    var count: Int { unsafe block.count }

    subscript(index: Int) -> Float {
        get {
            precondition(index >= 0 && index < count, "a sample of the block")
            return unsafe block[index]
        }
        set {
            precondition(index >= 0 && index < count, "a sample of the block")
            unsafe block[index] = newValue
        }
    }

    @_lifetime(borrow self)
    func span(_ range: Range<Int>) -> Span<Float> {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "samples of the block")
        let span = unsafe Span(_unsafeElements: UnsafeMutableBufferPointer(rebasing: block[range]))
        return unsafe _overrideLifetime(span, borrowing: self)
    }

    @_lifetime(&self)
    mutating func mutableSpan(_ range: Range<Int>) -> MutableSpan<Float> {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "samples of the block")
        let span = unsafe MutableSpan(_unsafeElements: UnsafeMutableBufferPointer(rebasing: block[range]))
        return unsafe _overrideLifetime(span, mutating: &self)
    }

    mutating func clear(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "samples of the block")
        unsafe UnsafeMutableBufferPointer(rebasing: block[range]).update(repeating: 0)
    }

    /// Copies within the block; the ranges may overlap.
    mutating func move(_ range: Range<Int>, to start: Int) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count && start >= 0 && start + range.count <= count, "samples of the block")
        unsafe (base + start).update(from: base + range.lowerBound, count: range.count)
    }
}
