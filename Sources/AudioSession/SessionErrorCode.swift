package import RelayBase

/// The platform's error codes that travel with refusals.
package enum SessionErrorCode: String, CaseIterable, Sendable {
    /// The session was never initialised, or is lost: initialise it, set its category, activate it.
    case notInitialised = "!ini"
    /// A stream was opened before the session was active; retryable.
    case cannotStartPlaying = "!pla"
    case cannotStartRecording = "!rec"
    case insufficientPriority = "!pri"
    /// Deactivated while streams run.
    case isBusy = "!act"
    case unsupportedFileType = "typ?"
    case unsupportedDataFormat = "fmt?"
    case unsupportedProperty = "pty?"
    case badPropertySize = "!siz"
    case notOptimized = "optm"
    case invalidPacketOffset = "pck?"
    case invalidFile = "dta?"
    case unspecified = "unk?"
    /// Wait for data; not fatal.
    case moreDataRequired = "more"
    case illegalOperation = "nope"
    case unspecifiedProblem = "wht?"
    case discontinuity = "dsc!"

    /// The number that the platform writes it as.
    package var code: FourCharacterCode {
        FourCharacterCode(rawValue) ?? FourCharacterCode(rawValue: 0)
    }

    package init?(_ code: FourCharacterCode) {
        self.init(rawValue: code.text)
    }

    /// Whether the same request can succeed later without anything else being done.
    package var isRetryable: Bool {
        switch self {
        case .cannotStartPlaying, .cannotStartRecording, .insufficientPriority, .moreDataRequired: true
        default: false
        }
    }
}
