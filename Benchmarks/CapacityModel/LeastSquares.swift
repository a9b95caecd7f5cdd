/// Costs of acts from runs of which the acts and the whole cost are known.
package enum LeastSquares {
    /// One run: how often each act was done, and what all of it cost.
    package struct Run: Sendable {
        package var acts: [Double]
        package var cost: Double

        package init(acts: [Double], cost: Double) {
            self.acts = acts
            self.cost = cost
        }
    }

    /// The costs, none below 0, with the least sum of squared *relative* errors: a run counts for as much whether it was long or short.
    ///
    /// Lawson and Hanson's idea in its simplest form: solve, drop the act whose cost is furthest below 0, solve again. There are few acts.
    /// - Returns: one cost each act; `nil` where the runs do not tell the acts apart.
    package static func nonNegative(_ runs: [Run]) -> [Double]? {
        guard let count = runs.first?.acts.count, runs.allSatisfy({ $0.acts.count == count && $0.cost > 0 }) else { return nil }
        var kept = Array(0..<count)
        while !kept.isEmpty {
            guard let solution = solve(runs, kept) else { return nil }
            guard let lowest = solution.enumerated().min(by: { $0.element < $1.element }), lowest.element < 0 else {
                var costs = [Double](repeating: 0, count: count)
                for (place, act) in kept.enumerated() { costs[act] = solution[place] }
                return costs
            }
            kept.remove(at: lowest.offset)
        }
        return [Double](repeating: 0, count: count)
    }

    /// The normal equations of the runs divided by their costs, by Gaussian elimination with pivots. Each act is scaled to its own size first.
    private static func solve(_ runs: [Run], _ kept: [Int]) -> [Double]? {
        let scales = kept.map { act in runs.reduce(0) { max($0, $1.acts[act] / $1.cost) } }
        guard scales.allSatisfy({ $0 > 0 }) else { return nil }
        let rows = runs.map { run in kept.enumerated().map { run.acts[$0.element] / run.cost / scales[$0.offset] } }
        let size = kept.count
        var matrix = (0..<size).map { row in
            (0..<size).map { column in rows.reduce(0) { $0 + $1[row] * $1[column] } } + [rows.reduce(0) { $0 + $1[row] }]
        }
        for column in 0..<size {
            guard let pivot = (column..<size).max(by: { abs(matrix[$0][column]) < abs(matrix[$1][column]) }), abs(matrix[pivot][column]) > 1e-12
            else { return nil }
            matrix.swapAt(column, pivot)
            for row in 0..<size where row != column {
                let factor = matrix[row][column] / matrix[column][column]
                for place in column...size { matrix[row][place] -= factor * matrix[column][place] }
            }
        }
        return (0..<size).map { matrix[$0][size] / matrix[$0][$0] / scales[$0] }
    }
}
