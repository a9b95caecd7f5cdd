import Reactor
import Testing

@Suite("tcp(7): congestion controls by name")
struct CongestionControlTests {
    @Test(
        "names stand between spaces, a line feed at the end",
        arguments: [("reno cubic bbr\n", ["reno", "cubic", "bbr"]), ("", []), ("\n", []), ("reno", ["reno"])] as [(String, [String])])
    func names(text: String, names: [String]) {
        #expect(CongestionControl.names(in: text.utf8) == names)
    }

    @Test("what the kernel lists is good, what it does not know is not")
    func known() throws {
        let available = try #require(CongestionControl.available())
        #expect(!available.isEmpty)
        #expect(available.allSatisfy { CongestionControl.fault($0, calls: .linux) == nil })
        #expect(CongestionControl.fault("no-such-control", calls: .linux) != nil)
    }
}
