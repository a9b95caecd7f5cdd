internal import CAVFormat
internal import MediaProtocol

/// An open input of libavformat over exactly one local file.
@safe
struct InputContext: ~Copyable {
    let pointer: UnsafeMutablePointer<AVFormatContext>
    private let file: UnsafeMutablePointer<AVIOContext>

    /// Opens the file and reads as much as tells its streams.
    ///
    /// Only the `file` protocol is used, and a file that refers to others (playlists, external tracks) does not get them: an input from
    /// outside must not make this process open anything else.
    init(path: String) throws(MediaFileFault) {
        AVLibrary.prepare()
        var file: UnsafeMutablePointer<AVIOContext>?
        let opened = unsafe avio_open2(&file, "file:" + path, AVIO_FLAG_READ, nil, nil)
        guard opened >= 0, let openFile = unsafe file else { throw .open(path: path, reason: AVLibrary.text(opened)) }
        guard let allocated = unsafe avformat_alloc_context() else {
            unsafe avio_closep(&file)
            throw .open(path: path, reason: "out of memory")
        }
        unsafe allocated.pointee.pb = unsafe openFile
        unsafe allocated.pointee.io_open = unsafe refuseOpen
        var context: UnsafeMutablePointer<AVFormatContext>? = unsafe allocated
        // No protocol is left for what the demuxers open by themselves, past io_open (the file proper is open already).
        // Samples of uncompressed sound have no packets of their own: 1,920 bytes are 20 ms of one channel at 48 kHz.
        var options = AVOptions(["protocol_whitelist": "none", "max_size": "1920"])
        // On failure it frees the context, but not a file that it did not open itself.
        let recognised = unsafe avformat_open_input(&context, path, nil, &options.dictionary)
        guard recognised >= 0, let openContext = unsafe context else {
            unsafe avio_closep(&file)
            throw .open(path: path, reason: AVLibrary.text(recognised))
        }
        let probed = unsafe avformat_find_stream_info(openContext, nil)
        guard probed >= 0 else {
            unsafe avformat_close_input(&context)
            unsafe avio_closep(&file)
            throw .open(path: path, reason: AVLibrary.text(probed))
        }
        unsafe pointer = unsafe openContext
        unsafe self.file = unsafe openFile
    }

    deinit {
        var context: UnsafeMutablePointer<AVFormatContext>? = unsafe pointer
        unsafe avformat_close_input(&context)
        var file: UnsafeMutablePointer<AVIOContext>? = unsafe file
        unsafe avio_closep(&file)
    }

    var streamCount: Int { unsafe Int(pointer.pointee.nb_streams) }

    /// The stream of that number; `nil` beyond the last.
    func stream(_ index: Int) -> UnsafeMutablePointer<AVStream>? {
        guard index >= 0, index < streamCount else { return nil }
        return unsafe pointer.pointee.streams[index]
    }

    /// Whether the container lists all its packets up front (MP4 and QuickTime), so that missing ones can be told.
    var hasCompleteIndex: Bool {
        guard let name = unsafe pointer.pointee.iformat?.pointee.name else { return false }
        return unsafe String(cString: name).hasPrefix("mov,")
    }

    /// Whole length, where the container tells.
    var durationNanoseconds: Int64? {
        let duration = unsafe pointer.pointee.duration
        return duration > 0 ? AVLibrary.rescale(duration, from: AVRational(num: 1, den: AV_TIME_BASE), to: AVLibrary.nanoseconds) : nil
    }
}

/// Stands in for libavformat's opening of further files.
private func refuseOpen(
    _: UnsafeMutablePointer<AVFormatContext>?, _: UnsafeMutablePointer<UnsafeMutablePointer<AVIOContext>?>?, _: UnsafePointer<CChar>?, _: CInt,
    _: UnsafeMutablePointer<OpaquePointer?>?
) -> CInt {
    segue_averror_eperm
}
