/// A Swift name in snake case, for metric labels and environment variables: `headTooLarge` is `head_too_large`, `idleHTTPMillisecondsMax` is
/// `idle_http_milliseconds_max`. Only what has ended, was refused or is configured is named so, never a frame.
func snakeCased(_ name: String) -> String {
    let characters = Array(name)
    var label = ""
    for (index, character) in characters.enumerated() {
        if character.isUppercase, index > 0 {
            let endsWord = !characters[index - 1].isUppercase
            let beginsWord = index + 1 < characters.count && characters[index + 1].isLowercase
            if endsWord || beginsWord { label += "_" }
        }
        label += character.lowercased()
    }
    return label
}
