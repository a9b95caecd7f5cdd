/// Placeholder
enum LibraryMemory { static func prepare() {} }
