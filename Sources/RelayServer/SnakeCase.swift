/// A fault's Swift name as a metric label: `headTooLarge` is `head_too_large`. Only what has ended or was refused is named so, never a frame.
func snakeCased(_ name: String) -> String {
    var label = ""
    for character in name {
        if character.isUppercase, let last = label.last, last != "_" { label += "_" }
        label += character.lowercased()
    }
    return label
}
