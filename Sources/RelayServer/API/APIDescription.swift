import HTTPProtocol

/// The OpenAPI 3.1 document, made from the route table: what is not in the one is not in the other.
package enum APIDescription {
    static let bytes = Array(text.utf8)

    package static let text: String = {
        var paths: [(template: String, operations: [String])] = []
        for route in APIRoute.all {
            let operation = operation(route)
            if let place = paths.firstIndex(where: { $0.template == route.template }) {
                paths[place].operations.append(operation)
            } else {
                paths.append((route.template, [operation]))
            }
        }
        let members = paths.map { "\(quoted($0.template)): {\($0.operations.joined(separator: ",\n"))}" }
        return """
            {"openapi": "3.1.0",
            "info": {"title": "Segue", "version": "1", "description": "Administration, enrolment and keys of a Segue relay. Operations marked mutualTLS need a client certificate."},
            "paths": {\(members.joined(separator: ",\n"))},
            "components": {
            "securitySchemes": {"mutualTLS": {"type": "mutualTLS"}, "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
            "schemas": \(APIOperation.schemas)}}

            """
    }()

    private static func operation(_ route: APIRoute) -> String {
        let about = route.operation.description
        var members = ["\"operationId\": \(quoted(route.operation.rawValue))", "\"summary\": \(quoted(about.summary))"]
        switch route.access {
        case .anybody: break
        case .identity: members.append("\"security\": [{\"mutualTLS\": []}, {\"bearer\": []}]")
        case .certificate, .admin: members.append("\"security\": [{\"mutualTLS\": []}]")
        }
        let parameters = pathParameters(route) + (about.isList ? pageParameters(route.operation) : [])
        if !parameters.isEmpty { members.append("\"parameters\": [\(parameters.joined(separator: ", "))]") }
        if let request = about.request {
            members.append("\"requestBody\": {\"required\": true, \"content\": {\"application/json\": {\"schema\": \(reference(request))}}}")
        }
        members.append("\"responses\": {\(responses(route, about).joined(separator: ", "))}")
        return "\(quoted(route.method.name.lowercased())): {\(members.joined(separator: ", "))}"
    }

    private static func pathParameters(_ route: APIRoute) -> [String] {
        route.parameterNames.map { name in
            "{\"name\": \(quoted(name)), \"in\": \"path\", \"required\": true, \"schema\": \(segmentSchema)}"
        }
    }

    // What ``PercentDecoding`` lets through, as a segment of a path and as a value of the query.
    private static let segmentSchema = #"{"type": "string", "minLength": 1, "pattern": "^[^\\u0000-\\u001f\\u007f]+$"}"#
    private static let textSchema = #"{"type": "string", "pattern": "^[^\\u0000-\\u001f\\u007f]*$"}"#
    private static let numberSchema = #"{"type": "integer", "minimum": 0, "maximum": 4294967295}"#

    private static func pageParameters(_ operation: APIOperation) -> [String] {
        let after = operation == .listParticipants || operation == .listStreams ? numberSchema : textSchema
        return [
            """
            {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": \(AdminPage.limitMax), "default": \(AdminPage.limitDefault)}}
            """,
            """
            {"name": "after", "in": "query", "description": "What the part before said under next.", "schema": \(after)}
            """,
        ]
    }

    private static func responses(_ route: APIRoute, _ about: APIOperation.Description) -> [String] {
        var errors = Set(about.errors)
        errors.insert(400)
        // Cross-site requests, too, and what is refused for want of rights.
        errors.formUnion([403, 503])
        if route.template.contains("{") { errors.insert(404) }
        if route.access == .identity { errors.formUnion([401, 429]) }
        if route.content == .json { errors.formUnion([408, 411, 413, 415]) }
        var responses = ["\"\(about.success)\": \(response(about.success, about.schema, about.type))"]
        for status in errors.sorted() { responses.append("\"\(status)\": \(response(status, "Problem", ProblemDocument.contentType))") }
        return responses
    }

    private static func response(_ status: Int, _ schema: String?, _ type: String) -> String {
        let reason = quoted(HTTPStatus(code: status)?.reason ?? "")
        guard let schema else { return "{\"description\": \(reason)}" }
        return "{\"description\": \(reason), \"content\": {\(quoted(type)): {\"schema\": \(reference(schema))}}}"
    }

    private static func reference(_ schema: String) -> String { "{\"$ref\": \"#/components/schemas/\(schema)\"}" }

    /// The texts are the relay's own: none of them holds what would have to be escaped.
    private static func quoted(_ text: String) -> String { "\"\(text)\"" }
}
