import Foundation
import Glibc

/// Real media files, made once for the whole run.
struct Fixtures: Sendable {
    let folder: TemporaryFolder

    static let made: Result<Fixtures, any Error> = {
        // Globals are never deinitialised, so the folder goes when the process ends.
        atexit {
            guard case .success(let fixtures) = Fixtures.made else { return }
            try? FileManager.default.removeItem(atPath: fixtures.folder.path)
        }
        return Result { try Fixtures() }
    }()

    /// The path of one of the files.
    static func path(_ name: String) throws -> String { try made.get().folder(name) }

    private init() throws {
        let folder = try TemporaryFolder()
        self.folder = folder
        let wav = folder("speech.wav")
        try Tools.run("espeak-ng", ["-w", wav, "Segue carries every frame to every listener, in real time and in order."])
        try Tools.run("opusenc", ["--quiet", "--framesize", "20", wav, folder("speech.opus")])
        try Tools.run("opusenc", ["--quiet", "--framesize", "2.5", wav, folder("short.opus")])
        let picture = ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30:duration=2"]
        let tone = ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000:duration=2"]
        func ffmpeg(_ arguments: [String], _ name: String) throws {
            try Tools.run("ffmpeg", ["-v", "error", "-y"] + arguments + [folder(name)])
        }
        let h264 = ["-c:v", "libx264", "-preset", "veryfast", "-g", "30", "-bf", "2", "-pix_fmt", "yuv420p"]
        try ffmpeg(picture + tone + h264 + ["-c:a", "aac", "-movflags", "+faststart"], "clip.mp4")
        try ffmpeg(picture + h264, "clip.h264")
        try ffmpeg(picture + tone + ["-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-g", "20", "-c:a", "libopus"], "vp8.webm")
        try ffmpeg(picture + ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-g", "20"], "vp9.webm")
        try ffmpeg(picture + ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "keyint=30:log-level=none", "-tag:v", "hvc1"], "hevc.mp4")
        try ffmpeg(picture + ["-frames:v", "12", "-c:v", "libaom-av1", "-usage", "realtime", "-cpu-used", "8", "-g", "6"], "av1.mp4")
        try ffmpeg(tone + ["-c:a", "pcm_s16le"], "tone.wav")
        try ffmpeg(tone + ["-ar", "8000", "-c:a", "pcm_mulaw"], "mulaw.wav")
        try ffmpeg(tone + ["-ar", "8000", "-c:a", "pcm_alaw"], "alaw.wav")
        try ffmpeg(tone + ["-c:a", "flac"], "flac.flac")
        let subtitles = folder("words.srt")
        try Data("1\n00:00:00,000 --> 00:00:01,000\nwords\n".utf8).write(to: URL(fileURLWithPath: subtitles))
        try ffmpeg(["-i", subtitles, "-i", folder("speech.opus"), "-map", "0", "-map", "1", "-c:a", "copy", "-c:s", "srt"], "subtitled.mkv")
    }
}
