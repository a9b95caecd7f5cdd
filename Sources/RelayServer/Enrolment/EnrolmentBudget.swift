import Reactor
import RelayBase

/// How often each address may ask the authority for something: so many times in a minute, spent in any rhythm, refilled evenly.
///
/// Memory is bounded: addresses whose budget is whole again are forgotten, and when there is no room all the same, whoever is new shares one budget
/// with all others who are new. So a crowd of addresses can make newcomers wait, but never gets more than its share.
struct EnrolmentBudget {
    static let addressesMax = 4_096

    private struct Account {
        /// When the budget is whole again: the later, the more of it is spent.
        var wholeAt: MonotonicInstant
    }

    private let perMinute: UInt64
    private var accounts: [AddressKey: Account] = [:]
    private var newcomers = Account(wholeAt: .zero)
    /// When the table may be gone through again: a crowd is not to cost that for each of its requests.
    private var nextSweep = MonotonicInstant.zero

    init(perMinute: Int) {
        self.perMinute = UInt64(max(1, perMinute))
    }

    /// Spends one request.
    ///
    /// - Returns: `nil`, or after how many seconds the address may try again.
    mutating func spend(_ address: AddressKey, now: MonotonicInstant) -> Int? {
        if accounts[address] == nil, accounts.count >= Self.addressesMax {
            if now >= nextSweep {
                accounts = accounts.filter { $0.value.wholeAt > now }
                nextSweep = now.advanced(byMilliseconds: 1_000)
            }
            guard accounts.count < Self.addressesMax else { return spend(&newcomers, now: now) }
        }
        return spend(&accounts[address, default: Account(wholeAt: .zero)], now: now)
    }

    private func spend(_ account: inout Account, now: MonotonicInstant) -> Int? {
        let cost = 60_000 / perMinute
        let whole = max(account.wholeAt, now)
        let after = whole.advanced(byMilliseconds: cost)
        // A full budget is a minute's worth: whatever lies beyond that is not there to be spent.
        let debt = after.milliseconds(since: now)
        guard debt <= 60_000 else { return Int(clamping: (debt - 60_000 + 999) / 1_000) }
        account.wholeAt = after
        return nil
    }
}
