import Foundation
import HTTPProtocol
import Testing

@testable import RelayServer

@Suite("Routes of the API")
struct APIRouteTests {
    private func describe(_ match: APIRoute.Match) -> String {
        switch match {
        case .route(let route, let parameters): ([route.operation.rawValue] + parameters).joined(separator: " ")
        case .otherMethods(let methods): methods.map(\.name).joined(separator: ",")
        case .malformed: "malformed"
        case .nothing: "nothing"
        }
    }

    @Test(
        "a method and a path lead to one operation, or say why not",
        arguments: [
            ("GET", "/v1/rooms", "listRooms"), ("HEAD", "/v1/rooms", "listRooms"), ("POST", "/v1/rooms", "GET"), ("HEAD", "/v1/enroll", "POST"),
            ("GET", "/v1/rooms/a", "readRoom a"), ("DELETE", "/v1/rooms/a", "endRoom a"), ("PUT", "/v1/rooms/a", "GET,DELETE"),
            ("GET", "/v1/rooms/a%2Fb/participants", "listParticipants a/b"), ("DELETE", "/v1/rooms/a/participants/7", "removeParticipant a 7"),
            ("GET", "/v1/rooms/%ff", "malformed"), ("GET", "/v1/rooms/%00", "malformed"), ("GET", "/v1/rooms/", "nothing"),
            ("GET", "/v1/rooms//", "nothing"),
            ("GET", "/v1//rooms", "nothing"), ("GET", "/v1/rooms/a/", "nothing"), ("GET", "/v1/Rooms", "nothing"), ("GET", "/v1", "nothing"),
            ("GET", "/v1/session", "nothing"), ("GET", "v1/rooms", "nothing"), ("OPTIONS", "*", "nothing"), ("get", "/v1/rooms", "GET"),
        ])
    func match(method: String, path: String, expected: String) {
        #expect(describe(APIRoute.match(HTTPMethod(method), path)) == expected)
    }

    @Test("each operation has one route, and no two routes are the same")
    func table() {
        #expect(Set(APIRoute.all.map(\.operation)) == Set(APIOperation.allCases))
        #expect(APIRoute.all.count == APIOperation.allCases.count)
        #expect(Set(APIRoute.all.map(\.name)).count == APIRoute.all.count)
    }

    @Test("what is for administrators is not for anybody: only descriptions, keys, enrolment, renewal and listening are open")
    func access() {
        let open = APIRoute.all.filter { route in
            switch route.access {
            case .anybody, .certificate, .identity: true
            case .admin: false
            }
        }
        #expect(
            Set(open.map(\.operation)) == [.readDescription, .readMessages, .readKeys, .enroll, .renew, .createListening, .listenToRoom, .listen])
    }

    @Test("the OpenAPI document is JSON, has every operation, and refers to nothing that is not there")
    func description() throws {
        let document = try #require(try JSONSerialization.jsonObject(with: Data(APIDescription.bytes)) as? [String: Any])
        let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
        let operations = paths.values.flatMap(\.values).compactMap { $0["operationId"] as? String }
        #expect(Set(operations) == Set(APIOperation.allCases.map(\.rawValue)))
        let components = try #require(document["components"] as? [String: Any])
        let schemas = try #require(components["schemas"] as? [String: Any])
        for match in APIDescription.text.matches(of: /#\/components\/schemas\/(\w+)/) {
            #expect(schemas[String(match.output.1)] != nil, "\(match.output.1)")
        }
    }
}
