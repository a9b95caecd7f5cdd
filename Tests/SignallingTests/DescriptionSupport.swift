import Foundation
import RelayBase
import Signalling
import Testing

/// The AsyncAPI document as its readers see it: parsed JSON, and ways through it.
struct DescribedProtocol {
    let document: [String: Any]
    let messages: [String: [String: Any]]
    let schemas: [String: [String: Any]]

    private static let text = ProtocolDescription().text

    /// - Parameter limits: `nil`: the default ones.
    init(limits: Limits? = nil) throws {
        let text = limits.map { ProtocolDescription(limits: $0).text } ?? Self.text
        document = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let components = try #require(document["components"] as? [String: Any])
        messages = try #require(components["messages"] as? [String: [String: Any]])
        schemas = try #require(components["schemas"] as? [String: [String: Any]])
    }

    func payload(of message: String) throws -> [String: Any] {
        try #require(messages[message]?["payload"] as? [String: Any], "\(message)")
    }

    /// Every example of a message.
    func examples(of message: String) throws -> [[String: Any]] {
        let examples = try #require(messages[message]?["examples"] as? [[String: Any]], "\(message)")
        return examples.compactMap { $0["payload"] as? [String: Any] }
    }

    /// What a schema says itself and by the references that it takes in.
    private func parts(of schema: [String: Any]) -> [[String: Any]] {
        var parts = [schema]
        if let path = schema["$ref"] as? String, let shared = schemas[String(path.split(separator: "/").last ?? "")] {
            parts += self.parts(of: shared)
        }
        for name in ["allOf", "oneOf", "anyOf"] {
            for part in schema[name] as? [[String: Any]] ?? [] { parts += self.parts(of: part) }
        }
        return parts
    }

    /// The properties of an object, by name; empty for what is no object.
    func properties(of schema: [String: Any]) -> [String: [String: Any]] {
        parts(of: schema).reduce(into: [:]) { found, part in
            for (name, value) in part["properties"] as? [String: Any] ?? [:] {
                // The refusals only narrow what stands beside them.
                if let value = value as? [String: Any], found[name] == nil { found[name] = value }
            }
        }
    }

    func items(of schema: [String: Any]) -> [String: Any]? {
        parts(of: schema).compactMap { $0["items"] as? [String: Any] }.first
    }

    /// Paths of the members that a schema itself knows, `wishes.bundles.delayMilliseconds`, and where it refers to which shared schema.
    func own(of schema: [String: Any], below path: String = "") -> (paths: Set<String>, references: [String: String]) {
        var paths: Set<String> = []
        var references: [String: String] = [:]
        func enter(_ inner: [String: Any], _ place: String) {
            if let shared = reference(in: inner) {
                references[place] = shared
            } else {
                let own = own(of: inner, below: place)
                paths.formUnion(own.paths)
                references.merge(own.references) { $1 }
            }
        }
        for (name, member) in properties(of: schema) {
            let place = path.isEmpty ? name : "\(path).\(name)"
            paths.insert(place)
            enter(member, place)
        }
        if let items = items(of: schema) { enter(items, path + "[]") }
        return (paths, references)
    }

    /// The name of the shared schema that a member is.
    private func reference(in schema: [String: Any]) -> String? {
        let wrapped = (schema["allOf"] as? [[String: Any]])?.first ?? schema
        return (wrapped["$ref"] as? String)?.split(separator: "/").last.map(String.init)
    }
}

/// Members found at the places of one schema, those of shared schemas apart by their names.
struct FoundMembers {
    var own: Set<String>
    var shared: [String: Set<String>] = [:]

    /// - Parameter paths: of a value's members, to any depth.
    init(_ paths: Set<String>, at schema: [String: Any], _ described: DescribedProtocol) {
        let references = described.own(of: schema).references
        own = paths
        for (place, name) in references {
            let inner = paths.compactMap { path -> String? in
                guard path.hasPrefix(place), path != place else { return nil }
                // Behind the place there is a member's name, or an element's.
                let rest = path.dropFirst(place.count)
                return rest.hasPrefix(".") ? String(rest.dropFirst()) : rest.hasPrefix("[]") ? String(rest) : nil
            }
            own.subtract(paths.filter { $0.hasPrefix(place + ".") || $0.hasPrefix(place + "[]") })
            guard let sharedSchema = described.schemas[name] else { continue }
            let found = FoundMembers(Set(inner), at: sharedSchema, described)
            shared[name, default: []].formUnion(found.own)
            shared.merge(found.shared) { $0.union($1) }
        }
    }
}

/// Paths of all members that a value has, in the same form.
func memberPaths(of value: Any, below path: String = "") -> Set<String> {
    switch value {
    case let object as [String: Any]:
        object.reduce(into: []) { paths, member in
            let own = path.isEmpty ? member.key : "\(path).\(member.key)"
            paths.insert(own)
            paths.formUnion(memberPaths(of: member.value, below: own))
        }
    case let list as [Any]: list.reduce(into: []) { $0.formUnion(memberPaths(of: $1, below: path + "[]")) }
    default: []
    }
}

/// What the Codable types have, by reflection on a decoded value: the names of its stored properties, which are those of its members.
func storedPaths(of value: Any, below path: String = "") -> Set<String> {
    let mirror = Mirror(reflecting: value)
    switch mirror.displayStyle {
    case .struct where !(value is any ExpressibleByIntegerLiteral) && !(value is String):
        return mirror.children.reduce(into: []) { paths, child in
            guard let name = child.label else { return }
            let own = path.isEmpty ? name : "\(path).\(name)"
            paths.insert(own)
            paths.formUnion(storedPaths(of: child.value, below: own))
        }
    case .collection: return mirror.children.reduce(into: []) { $0.formUnion(storedPaths(of: $1.value, below: path + "[]")) }
    case .optional: return mirror.children.first.map { storedPaths(of: $0.value, below: path) } ?? []
    default: return []
    }
}

func parsed(_ bytes: [UInt8]) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
}

func bytes(_ object: [String: Any]) throws -> [UInt8] {
    Array(try JSONSerialization.data(withJSONObject: object))
}

/// Whether two JSON values are the same; numbers by value.
func isSame(_ first: [String: Any], _ second: [String: Any]) -> Bool {
    NSDictionary(dictionary: first) == NSDictionary(dictionary: second)
}
