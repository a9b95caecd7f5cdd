/// What lets devices get and renew their certificates from the relay. Without it there are no such endpoints.
///
/// The relay that enrols holds the authority's key: whoever takes over its process can sign. Where that is too much, requests are signed elsewhere by
/// `segue ca sign`, and this part of the configuration is left out.
package struct EnrolmentConfiguration: Hashable, Sendable {
    /// The authority's folder, as `segue ca init` makes it. The relay's user must own it.
    package var authority: String
    /// The share of a certificate's life after which its owner may renew it, in percent.
    package var renewalLifePercent = 50
    /// Requests to enrol or to renew that one address may make in a minute.
    package var attemptsPerMinute = 10

    package init(authority: String) {
        self.authority = authority
    }

    static let renewalLifePercents = 0...99
    static let attempts = 1...10_000

    /// Reads `enrolment`; `defaults` are what holds without it.
    init?(_ reader: inout ConfigurationReader, defaults: EnrolmentConfiguration?) {
        let authority = reader.string("authority")
        let percent = reader.integer("renewalLifePercent", in: Self.renewalLifePercents)
        let attempts = reader.integer("attemptsPerMinute", in: Self.attempts)
        guard let authority = authority ?? defaults?.authority, !authority.isEmpty else {
            reader.fault("authority", "must name the folder of a certificate authority")
            return nil
        }
        self = defaults ?? EnrolmentConfiguration(authority: authority)
        self.authority = authority
        if let percent { renewalLifePercent = percent }
        if let attempts { attemptsPerMinute = attempts }
    }
}
