/// What `segue check` found: each thing looked at, how it is, and what to do.
struct CheckReport {
    enum Status: String, Encodable {
        case ok
        case warn
        case fail
    }

    struct Finding: Encodable, Equatable {
        let status: Status
        let subject: String
        let message: String
        /// What to do about it.
        var advice: String?
    }

    private struct Summary: Encodable {
        let ok: Bool
        let findings: [Finding]
    }

    private(set) var findings: [Finding] = []

    var failures: Int { findings.count { $0.status == .fail } }
    var hasFailed: Bool { findings.contains { $0.status == .fail } }

    mutating func add(_ status: Status, _ subject: String, _ message: String, advice: String? = nil) {
        findings.append(Finding(status: status, subject: subject, message: message, advice: advice))
    }

    /// Adds advice to the last finding.
    mutating func advise(_ advice: String) {
        guard let last = findings.indices.last else { return }
        findings[last].advice = advice
    }

    func show(asJSON: Bool) {
        if asJSON {
            Console.json(Summary(ok: !hasFailed, findings: findings))
            return
        }
        for finding in findings {
            let status = finding.status.rawValue + String(repeating: " ", count: 4 - finding.status.rawValue.count)
            Console.out("\(status)  \(Console.plain("\(finding.subject): \(finding.message)"))")
            if let advice = finding.advice { Console.out("      \(Console.plain(advice))") }
        }
    }
}
