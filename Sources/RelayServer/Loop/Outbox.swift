import Reactor

/// What a thread posts to others: messages that find a mailbox full wait here, in their order, and are tried again each turn.
struct Outbox {
    private let mailboxes: [Mailbox<LoopMessage>]
    private let messagesMax: Int
    private var waiting: [[LoopMessage]]

    /// - Parameter messagesMax: to one mailbox; beyond, messages are lost.
    init(_ mailboxes: [Mailbox<LoopMessage>], messagesMax: Int) {
        self.mailboxes = mailboxes
        self.messagesMax = messagesMax
        waiting = Array(repeating: [], count: mailboxes.count)
    }

    var isEmpty: Bool { waiting.allSatisfy { $0.isEmpty } }

    /// - Returns: false when the mailbox and the place here for it are full, and the message is lost.
    mutating func post(_ message: LoopMessage, to place: Int) -> Bool {
        guard !waiting[place].isEmpty || mailboxes[place].post(message) == .full else { return true }
        guard waiting[place].count < messagesMax else { return false }
        waiting[place].append(message)
        return true
    }

    mutating func retry() {
        for place in waiting.indices where !waiting[place].isEmpty {
            var sent = 0
            while sent < waiting[place].count, mailboxes[place].post(waiting[place][sent]) == .posted { sent += 1 }
            waiting[place].removeFirst(sent)
        }
    }
}
