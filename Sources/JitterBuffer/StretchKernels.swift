/// Sums over samples in an order that is fixed, so that a machine's vector width, or WebAssembly, gives the same bits.
///
/// Eight partial sums, each of every eighth product, are added from the first to the last; then what is left over. Nothing here contracts a product and a sum
/// into one rounding: Swift never asks the compiler for that.
enum StretchKernels {
    /// Σ x[first + i] · x[second + i] over `count` samples.
    static func dotProduct(_ samples: Span<Float>, _ first: Int, _ second: Int, count: Int) -> Float {
        precondition(first >= 0 && second >= 0 && count >= 0, "samples before the first")
        precondition(max(first, second) <= samples.count - count, "samples beyond the last")
        return unsafe samples.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return 0 }
            return unsafe dotProduct(UnsafeRawPointer(base + first), UnsafeRawPointer(base + second), count: count)
        }
    }

    /// Σ x[first + i]² over `count` samples.
    static func energy(_ samples: Span<Float>, _ first: Int, count: Int) -> Float {
        dotProduct(samples, first, first, count: count)
    }

    /// Σ x[first + i] · y[second + i] over `count` samples.
    static func dotProduct(_ left: Span<Float>, _ first: Int, _ right: Span<Float>, _ second: Int, count: Int) -> Float {
        precondition(first >= 0 && second >= 0 && count >= 0, "samples before the first")
        precondition(first <= left.count - count && second <= right.count - count, "samples beyond the last")
        return unsafe left.withUnsafeBufferPointer { left in
            unsafe right.withUnsafeBufferPointer { right in
                guard let leftBase = left.baseAddress, let rightBase = right.baseAddress else { return 0 }
                return unsafe dotProduct(UnsafeRawPointer(leftBase + first), UnsafeRawPointer(rightBase + second), count: count)
            }
        }
    }

    private static func dotProduct(_ left: UnsafeRawPointer, _ right: UnsafeRawPointer, count: Int) -> Float {
        let stride = MemoryLayout<Float>.stride
        var partial = SIMD8<Float>.zero
        var place = 0
        while place + 8 <= count {
            let x = unsafe left.loadUnaligned(fromByteOffset: place * stride, as: SIMD8<Float>.self)
            let y = unsafe right.loadUnaligned(fromByteOffset: place * stride, as: SIMD8<Float>.self)
            partial += x * y
            place += 8
        }
        var sum: Float = 0
        for lane in 0..<8 { sum += partial[lane] }
        while place < count {
            sum +=
                unsafe left.loadUnaligned(fromByteOffset: place * stride, as: Float.self)
                * right.loadUnaligned(fromByteOffset: place * stride, as: Float.self)
            place += 1
        }
        return sum
    }

    /// The greatest magnitude of `count` samples.
    static func peak(_ samples: Span<Float>, _ first: Int, count: Int) -> Float {
        var peak: Float = 0
        for place in first..<first + count { peak = max(peak, samples[place].magnitude) }
        return peak
    }

    /// The greatest magnitude of x[first + i] − x[second + i] over `count` samples.
    static func peakDifference(_ samples: Span<Float>, _ first: Int, _ second: Int, count: Int) -> Float {
        var peak: Float = 0
        for place in 0..<count { peak = max(peak, (samples[first + place] - samples[second + place]).magnitude) }
        return peak
    }

    /// Moves `count` samples from `source` to `target`; the regions may overlap.
    static func move(_ samples: inout MutableSpan<Float>, from source: Int, to target: Int, count: Int) {
        guard count > 0, source != target else { return }
        precondition(source >= 0 && target >= 0 && max(source, target) <= samples.count - count, "samples beyond the last")
        unsafe samples.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            unsafe (base + target).update(from: base + source, count: count)
        }
    }
}
