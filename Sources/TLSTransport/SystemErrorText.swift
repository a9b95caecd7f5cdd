import Glibc

/// The system's text for an error number (glibc keeps `strerror`'s buffer per thread).
func systemErrorText(_ code: Int32) -> String {
    guard let text = unsafe strerror(code) else { return "error \(code)" }
    return unsafe String(cString: text)
}
