internal import CLinux
internal import Glibc

/// Says at once that one of some files may have been written or replaced (inotify(7)), so that a change need not wait for somebody to look.
///
/// Folders are watched, because files are replaced by renaming. What is not told: changes behind a symbolic link into another folder, and on file systems of
/// other machines. Whoever must see those looks from time to time besides.
package final class FileWatcher: Sendable {
    private let owned: OwnedDescriptor

    package init() throws(SystemFault) {
        let number = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        try Socket.check("inotify_init1", number)
        owned = OwnedDescriptor(FileDescriptor(number: number))
    }

    /// To be watched for reading.
    package var descriptor: FileDescriptor { owned.descriptor }

    /// Watches the folder of `path`. A folder that is watched already is not watched twice; one that is not there is no fault: it is looked for in vain
    /// until somebody asks again.
    package func watch(folderOf path: String) {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        // A file counts as changed when its writer has closed it, and when it has taken another's place.
        _ = unsafe inotify_add_watch(descriptor.number, folder, UInt32(IN_CLOSE_WRITE | IN_MOVED_TO))
    }

    /// Throws away what is told; true when anything was. Which files it is about is for the caller to find out.
    package func drain() -> Bool {
        var hasTold = false
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = unsafe read(descriptor.number, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return hasTold }
            hasTold = true
        }
    }
}
