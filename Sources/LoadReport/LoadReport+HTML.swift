extension LoadReport {
    /// One page that needs nothing else.
    package func html() -> String {
        "<!DOCTYPE html><html lang=\"en\"><head><title>\(scenario.name)</title></head><body></body></html>"
    }
}
