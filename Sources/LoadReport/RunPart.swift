/// Which of several processes a report is of, and what is still open between them: what each published, and what its listeners have had of it.
///
/// A process knows what was due to its own clients of its own streams. What was due to them of the others' streams is found when the parts are joined.
package struct RunPart: Codable, Sendable, Equatable {
    /// From 1 to ``count``.
    package var number: Int
    package var count: Int
    package var streams: [Stream] = []
    package var listeners: [Listener] = []

    package init(number: Int, count: Int) {
        self.number = number
        self.count = count
    }

    /// How many frames of a stream were due before an instant, in milliseconds since 1970.
    package struct Mark: Codable, Sendable, Equatable {
        package var time: Double
        package var number: UInt32

        package init(time: Double, number: UInt32) {
            self.time = time
            self.number = number
        }
    }

    /// What was published.
    package struct Stream: Codable, Sendable, Equatable {
        package var room: Int
        package var stream: UInt32
        /// Of the client that published it: it does not hear itself.
        package var seat: Int
        /// Frames that were due in all, the last of them at this time.
        package var total: UInt32
        package var lastDue: Double
        /// In order, some a second.
        package var marks: [Mark]

        package init(room: Int, stream: UInt32, seat: Int, total: UInt32, lastDue: Double, marks: [Mark]) {
            self.room = room
            self.stream = stream
            self.seat = seat
            self.total = total
            self.lastDue = lastDue
            self.marks = marks
        }

        /// How many were due by then; between two marks, by the first.
        func number(by time: Double) -> UInt32 {
            if time >= lastDue { return total }
            return marks.last { $0.time <= time }?.number ?? 0
        }

        /// How many were due before then; between two marks, before the second.
        func number(before time: Double) -> UInt32 { marks.first { $0.time >= time }?.number ?? total }
    }

    /// A client at the end. Times are milliseconds since 1970.
    package struct Listener: Codable, Sendable, Equatable {
        package var room: Int
        package var seat: Int
        /// When it heard what there was to be heard, and that was measured; `nil`: it did not, at the end.
        package var since: Double?
        package var until: Double
        /// What was due to it and what came, as far as its own process knows.
        package var due: Int
        package var delivered: Int
        /// Of each stream that it has heard, the frame that it waits for; `nil`: it has heard the stream's end.
        package var waitsFor: [UInt32: UInt32?]

        package init(room: Int, seat: Int, since: Double?, until: Double, due: Int, delivered: Int, waitsFor: [UInt32: UInt32?]) {
            self.room = room
            self.seat = seat
            self.since = since
            self.until = until
            self.due = due
            self.delivered = delivered
            self.waitsFor = waitsFor
        }

        /// Frames of a stream that were due to it and of which nothing has told: its last ones, or all of them when none came.
        package func missing(of stream: Stream) -> Int {
            guard let since, stream.room == room, stream.seat != seat else { return 0 }
            let due = stream.number(by: until)
            guard let heard = waitsFor[stream.stream] else { return Self.frames(from: stream.number(before: since), to: due) }
            return heard.map { Self.frames(from: $0, to: due) } ?? 0
        }

        /// Numbers wrap.
        private static func frames(from first: UInt32, to end: UInt32) -> Int { max(0, Int(Int32(bitPattern: end &- first))) }
    }
}
