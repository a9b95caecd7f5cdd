import AudioSession
import RelayBase
import Testing

@Suite("Codes of the platform")
struct CodeTests {
    @Test(
        "§1 error codes are the platform's numbers, and go there and back as text and as number",
        arguments: [
            (SessionErrorCode.notInitialised, UInt32(560_557_673)), (.cannotStartPlaying, 561_015_905), (.unsupportedFileType, 1_954_115_647),
        ])
    func numbers(code: SessionErrorCode, number: UInt32) {
        #expect(code.code.rawValue == number)
    }

    @Test("§1 every error code goes there and back", arguments: SessionErrorCode.allCases)
    func roundTrip(code: SessionErrorCode) {
        #expect(code.code.text == code.rawValue)
        #expect(SessionErrorCode(code.code) == code)
        #expect(FourCharacterCode(rawValue: code.code.rawValue) == code.code)
    }

    @Test(
        "§2 categories have the platform's four characters, and are found by them",
        arguments: zip(Category.allCases, ["ambi", "solo", "medi", "reca", "plar", "proc", "mrut"]))
    func categories(category: AudioSession.Category, text: String) {
        #expect(category.code.text == text)
        #expect(Category(text: text) == category)
        #expect(Category(text: category.rawValue) == category)
    }

    @Test("what is not four ASCII characters is no code", arguments: ["", "abc", "abcde", "äbc", "é"])
    func refused(text: String) {
        #expect(FourCharacterCode(text) == nil)
    }
}
