import Foundation
import Glibc
import HTTPProtocol
import RelayBase
import Testing

@testable import RelayServer

@Suite("The web client's files")
struct WebFilesTests {
    private static let script = [UInt8](String(repeating: "export const answer = 42;\n", count: 100).utf8)
    private static let picture = (0..<500).map { UInt8(truncatingIfNeeded: $0 &* 97) }
    private let files = WebFiles([
        "index.html": Array("<!doctype html><title>Segue</title>".utf8), "app/app.mjs": script, "admin/index.html": Array("<p>".utf8),
        "icon.png": picture,
        "a b/ü.txt": Array("x".utf8), "a b/index.html": Array("y".utf8), "empty.css": [],
    ])

    private func head(_ path: String, _ method: HTTPMethod = .get, _ fields: HTTPFields = []) -> HTTPRequestHead {
        HTTPRequestHead(method: method, target: HTTPTarget(form: .origin, path: path), version: .http11, fields: fields)
    }

    private func response(_ path: String, _ method: HTTPMethod = .get, _ fields: HTTPFields = []) throws -> Endpoints.Response {
        try #require(files.response(to: head(path, method, fields)), "\(path)")
    }

    private static let found: [(path: String, name: String)] = [
        ("/", "index.html"), ("/index.html", "index.html"), ("/app/app.mjs", "app/app.mjs"), ("/admin/", "admin/index.html"),
        ("/admin/index.html", "admin/index.html"), ("/%61pp/app.mjs", "app/app.mjs"), ("/a%20b/%C3%BC.txt", "a b/ü.txt"), ("/empty.css", "empty.css"),
        ("//app/./app.mjs", "app/app.mjs"),
    ]

    @Test("a path leads to the file of its name, a folder's to its page", arguments: found.indices)
    func finds(place: Int) throws {
        let row = Self.found[place]
        guard case .file(let file) = files.match(row.path), case .file(let same) = files.match("/" + row.name.encoded) else {
            Issue.record("\(row.path) leads to no file")
            return
        }
        #expect(file.plain.tag == same.plain.tag)
    }

    private static let missing = [
        "/nothing", "/app", "/app/", "/App/app.mjs", "/app/app.mjs/", "/app/../index.html", "/%2e%2e/index.html", "/..%2findex.html",
        "/app%2Fapp.mjs",
        "/app%5Capp.mjs", "/index.html%00", "/%00", "/a%FFb", "/%", "", "index.html", "/empty.css%0A", "/index.html.gz",
    ]

    @Test("what is not there, would leave the folder or is no name of a file leads to nothing", arguments: missing)
    func nothing(path: String) {
        #expect(files.response(to: head(path)) == nil)
    }

    @Test("RFC 9110 §15.4.9 a folder without its slash leads to the one with it, and never to another site")
    func folders() throws {
        for path in ["/admin", "//admin", "/./admin", "/%61dmin"] {
            let answer = try response(path)
            #expect(answer.head.status == .permanentRedirect && answer.head.fields.single("location") == "/admin/", "\(path)")
            #expect(answer.head.fields.single("content-length") == "0" && answer.body.isEmpty)
        }
        #expect(files.response(to: head("/a%20b")) == nil, "a name that would have to be encoded is not redirected to")
    }

    @Test("an answer has the file, its kind, its length, a strong tag, and what keeps a page to itself")
    func fields() throws {
        let answer = try response("/app/app.mjs")
        #expect(answer.head.status == .ok && answer.body == Self.script)
        let fields = answer.head.fields
        #expect(fields.single("content-type") == "text/javascript; charset=utf-8")
        #expect(fields.single("content-length") == "\(Self.script.count)")
        #expect(fields.single("cache-control") == "no-cache")
        #expect(fields.single("vary") == "accept-encoding")
        #expect(fields.single("content-encoding") == nil)
        let tag = try #require(fields.single("etag").flatMap { EntityTag($0) })
        #expect(!tag.isWeak && tag.opaque.utf8.count == 64)
        #expect(
            fields.single("content-security-policy")
                == "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; "
                + "connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
                + "require-trusted-types-for 'script'")
        for field in WebFiles.securityFields { #expect(fields.single(field.name) == field.value) }
        #expect(Set(WebFiles.securityFields.map(\.name)).count == 7)
        #expect(try response("/icon.png").head.fields.single("vary") == nil, "there is one form only")
    }

    @Test("RFC 9110 §8.8.3.3 who accepts gzip gets it where it is shorter, with a tag of its own")
    func gzip() throws {
        let accepted: HTTPFields = [HTTPField("accept-encoding", "br, gzip")]
        let coded = try response("/app/app.mjs", .get, accepted)
        #expect(coded.head.fields.single("content-encoding") == "gzip")
        #expect(coded.body.count < Self.script.count / 4)
        #expect(coded.head.fields.single("content-length") == "\(coded.body.count)")
        #expect(coded.head.fields.single("etag") != (try response("/app/app.mjs").head.fields.single("etag")))
        #expect(try response("/icon.png", .get, accepted).head.fields.single("content-encoding") == nil)
        #expect(try response("/empty.css", .get, accepted).body.isEmpty)
    }

    private static let conditions: [(name: String, value: String, status: Int)] = [
        ("if-none-match", "TAG", 304), ("if-none-match", "W/TAG", 304), ("if-none-match", "\"other\", TAG", 304), ("if-none-match", "*", 304),
        ("if-none-match", "\"other\"", 200), ("if-none-match", "other", 200), ("if-match", "TAG", 200), ("if-match", "*", 200),
        ("if-match", "\"other\"", 412), ("if-match", "W/TAG", 412), ("range", "bytes=0-1", 200),
    ]

    @Test("RFC 9110 §13 conditions are answered by the tag of the form that would be sent", arguments: conditions.indices, ["", "gzip"])
    func conditional(place: Int, coding: String) throws {
        let row = Self.conditions[place]
        let accepted: HTTPFields = [HTTPField("accept-encoding", coding)]
        let tag = try #require(try response("/app/app.mjs", .get, accepted).head.fields.single("etag"))
        var fields = accepted
        fields.append(row.name, row.value.replacing("TAG", with: tag))
        let answer = try response("/app/app.mjs", .get, fields)
        #expect(answer.head.status.code == row.status)
        guard row.status == 304 else { return }
        #expect(answer.body.isEmpty && answer.head.fields.single("content-length") == nil && answer.head.fields.single("content-type") == nil)
        #expect(answer.head.fields.single("etag") == tag && answer.head.fields.single("vary") == "accept-encoding")
        let another: HTTPFields = [HTTPField("accept-encoding", coding.isEmpty ? "gzip" : ""), HTTPField(row.name, tag)]
        #expect(try response("/app/app.mjs", .get, another).head.status == .ok, "the other form is another")
    }

    @Test("RFC 9110 §9.3.2 HEAD has the fields of GET; other methods are told which there are")
    func methods() throws {
        #expect(try response("/app/app.mjs", .head).head.fields.single("content-length") == "\(Self.script.count)")
        for path in ["/app/app.mjs", "/admin"] {
            let answer = try response(path, .post)
            #expect(answer.head.status == .methodNotAllowed && answer.head.fields.single("allow") == "GET, HEAD")
        }
    }
}

extension String {
    fileprivate var encoded: String { addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? self }
}

@Suite("The web client's folder")
struct WebFolderTests {
    private let path = FileManager.default.temporaryDirectory.appending(path: "segue-web-\(UUID().uuidString)").path()

    private func write(_ name: String, _ text: String) throws {
        let file = URL(filePath: path).appending(path: name)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    private func folder(files: Int = 512, bytes: Int = 1 << 20) -> WebFolder {
        var limits = Limits()
        limits.webFilesMax = files
        limits.webBytesMax = bytes
        return WebFolder(path: path, limits: limits)
    }

    @Test("files in folders are read; hidden ones, links and what is no file are left out")
    func reads() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try write("index.html", "page")
        try write("a/b/c.mjs", "code")
        try write(".git/config", "secret")
        try write("a/.env", "secret")
        try FileManager.default.createSymbolicLink(atPath: path + "/passwd", withDestinationPath: "/etc/passwd")
        try FileManager.default.createSymbolicLink(atPath: path + "/etc", withDestinationPath: "/etc")
        #expect(unsafe mkfifo(path + "/pipe", 0o600) == 0)
        let files = try folder().read()
        #expect(files.count == 2 && files.byteCount == 8)
        guard case .file(let page) = files.match("/"), case .file(let code) = files.match("/a/b/c.mjs"), case .nothing = files.match("/passwd") else {
            Issue.record("not the files that are there")
            return
        }
        #expect(page.plain.bytes == Array("page".utf8) && code.plain.bytes == Array("code".utf8))
    }

    @Test("a folder that is missing, empty, no folder or above the limits is a fault that says so")
    func faults() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        func fault(_ folder: WebFolder) -> String? {
            do {
                _ = try folder.read()
                return nil
            } catch {
                return error.reason
            }
        }
        #expect(fault(folder()) == "cannot be listed")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        #expect(fault(folder()) == "has no files")
        try write("a.txt", "12345")
        try write("b.txt", "12345")
        #expect(fault(folder(bytes: 10)) == nil)
        #expect(fault(folder(bytes: 9)) == "has more than 9 bytes (webBytesMax)")
        #expect(fault(folder(bytes: 4)) == "is no file of at most 4 bytes")
        #expect(fault(folder(files: 1)) == "has more than 1 files (webFilesMax)")
        #expect(fault(WebFolder(path: path + "/a.txt", limits: Limits())) == "cannot be listed")
        try write(String(repeating: "d/", count: 17) + "x", "y")
        #expect(fault(folder()) == "is 17 folders deep")
    }
}
