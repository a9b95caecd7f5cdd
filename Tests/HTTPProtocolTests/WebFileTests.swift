import HTTPProtocol
import Testing

@Suite("Files of web pages: kinds and codings")
struct WebFileTests {
    private static let types: [(name: String, type: String, isCompressible: Bool)] = [
        ("index.html", "text/html; charset=utf-8", true), ("a/b.css", "text/css; charset=utf-8", true),
        ("app.mjs", "text/javascript; charset=utf-8", true), ("APP.JS", "text/javascript; charset=utf-8", true),
        ("a.json", "application/json", true), ("site.webmanifest", "application/manifest+json", true), ("i.svg", "image/svg+xml", true),
        ("robots.txt", "text/plain; charset=utf-8", true), ("jitter-buffer.wasm", "application/wasm", true), ("i.png", "image/png", false),
        ("favicon.ico", "image/x-icon", false), ("a.html.bin", "application/octet-stream", false), ("html", "application/octet-stream", false),
        ("a.", "application/octet-stream", false), ("", "application/octet-stream", false),
    ]

    @Test("a name's ending says what kind of file it is; what is not known is bytes", arguments: types.indices)
    func kinds(place: Int) {
        let row = Self.types[place]
        let type = WebMediaType(fileName: row.name)
        #expect(type.value == row.type)
        #expect(type.isCompressible == row.isCompressible)
    }

    private static let codings: [(fields: [String], accepts: Bool)] = [
        ([], false), (["gzip"], true), (["deflate, gzip, br"], true), (["GZIP"], true), (["br", "gzip"], true), (["br"], false), (["*"], true),
        (["gzip;q=0"], false), (["gzip; q=0.000"], false), (["gzip;q=0.001"], true), (["gzip;q=1"], true), (["*;q=0"], false),
        (["*, gzip;q=0"], false), (["gzip;q=0, *"], false), (["*;q=0, gzip"], true), (["x-gzip"], false), ([""], false), ([";q=1"], false),
        (["gzip;q=bad"], true), (["identity;q=0, *;q=0"], false),
    ]

    @Test("RFC 9110 §12.5.3 a coding is accepted by its name, or by '*' where it is not named", arguments: codings.indices)
    func accepted(place: Int) {
        let row = Self.codings[place]
        let fields = HTTPFields(row.fields.map { HTTPField("accept-encoding", $0) })
        #expect(AcceptedCodings(fields).accepts("gzip") == row.accepts, "\(row.fields)")
    }
}
