import MediaFiles
import MediaProtocol
import Signalling

/// Several files that are encodings of one picture, published as the layers of one stream.
struct SimulcastPlan {
    /// The picture's stream in each file, lowest encoding first.
    let pictures: [MediaFileStream]
    /// Send layers that nobody wants, too.
    let ignoresWanted: Bool

    /// Frame rates are told from timestamps: a thousandth of difference is rounding.
    private static let frameRateTolerance = 0.001

    /// - Returns: `nil` without `--simulcast`.
    init?(_ arguments: Arguments, _ files: [FileFeed]) throws {
        ignoresWanted = arguments.has("--ignore-wanted")
        guard arguments.has("--simulcast") else {
            if ignoresWanted, arguments.string("--encode") == nil {
                throw CommandFailure(code: .usage, message: "--ignore-wanted goes with --simulcast or --encode")
            }
            return nil
        }
        guard (2...StreamLayer.countMax).contains(files.count) else {
            throw CommandFailure(code: .usage, message: "--simulcast takes 2 to \(StreamLayer.countMax) files")
        }
        pictures = try files.map { file in
            let pictures = file.streams.filter { if case .video = $0.description { true } else { false } }
            guard let picture = pictures.first, pictures.count == 1 else {
                throw CommandFailure(code: .failure, message: "\(file.path) has \(pictures.count) video streams; --simulcast needs one in each file")
            }
            return picture
        }
        for (file, picture) in zip(files, pictures) where !Self.isAlike(picture, pictures[0]) {
            throw CommandFailure(
                code: .failure, message: "\(file.path) is of another codec or frame rate than \(files[0].path): they are no encodings of one picture")
        }
    }

    private static func isAlike(_ stream: MediaFileStream, _ other: MediaFileStream) -> Bool {
        guard case .video(let picture) = stream.description, case .video(let first) = other.description else { return false }
        return picture.codec == first.codec && abs(picture.frameRate - first.frameRate) <= first.frameRate * frameRateTolerance
    }

    /// The layer that a file's stream is published as; `nil`: it is left out.
    func layer(of stream: MediaFileStream, file: Int) -> Int? {
        if stream == pictures[file] { return file }
        // The other files have the same sound, if any.
        return file == 0 ? 0 : nil
    }

    func isPicture(_ stream: MediaFileStream, file: Int) -> Bool { stream == pictures[file] }

    var layers: [StreamLayer] {
        pictures.map { picture in
            guard case .video(let video) = picture.description else { return StreamLayer() }
            return StreamLayer(width: Int(video.width), height: Int(video.height), frameRate: video.frameRate > 0 ? video.frameRate : nil)
        }
    }
}

/// Whether a track's frames go out: those of a layer that nobody wants do not, and it begins again with a key frame.
struct LayerGate {
    private var isWanted = true
    private var isOpen = true

    mutating func setWanted(_ wanted: Bool) {
        isWanted = wanted
        if !wanted { isOpen = false }
    }

    mutating func passes(isKey: Bool) -> Bool {
        if isWanted, isKey { isOpen = true }
        return isOpen
    }
}
