// swift-tools-version: 6.2
import PackageDescription

/// One set of strict settings for every Swift target: a warning is a fault, and each unsafe construct is marked where it stands.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableExperimentalFeature("Lifetimes"),
]

/// Lets other modules specialize the generic tables and queues. `@inlinable` alone does that for `public` declarations only: this compiler does not
/// serialize the bodies of `package` ones, and every look-up would go through unspecialized code and its metadata.
let specialized: [SwiftSetting] = [.unsafeFlags(["-enable-cmo-everything"], .when(configuration: .release))]

/// Release builds of what lies on the path of every frame do not check at run time that accesses to a class's fields do not overlap: a check costs as much as
/// the access itself, twenty times over, and there were some fifty per frame and receiver. The compiler's own checks stay, as do those for bounds and overflow;
/// debug builds, with all tests and benches, check at run time too.
let uncheckedExclusivity: [SwiftSetting] = [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]

/// Each target that is built so brings its own copies of the standard library's small functions under one name. They are alike: the linker takes the first.
let alikeCopies: [LinkerSetting] = [.unsafeFlags(["-Xlinker", "--allow-multiple-definition"], .when(configuration: .release))]

/// For targets whose tests compute much.
let optimized: [SwiftSetting] = [.unsafeFlags(["-O"], .when(configuration: .debug))]

func swiftTarget(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func testTarget(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

let package = Package(
    name: "segue",
    products: [
        .executable(name: "segue", targets: ["segue"]),
        .library(name: "AudioSessionBridge", targets: ["AudioSessionBridge"]),
    ],
    targets: [
        // System modules: thin shims for macros and for what Swift's Glibc module lacks.
        .target(name: "CLinux"),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "COpus", pkgConfig: "opus", providers: [.apt(["libopus-dev"])]),
        .systemLibrary(name: "CSpeexDSP", pkgConfig: "speexdsp", providers: [.apt(["libspeexdsp-dev"])]),
        .systemLibrary(name: "CNATS", pkgConfig: "libnats", providers: [.apt(["libnats-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CAVFormat", pkgConfig: "libavformat", providers: [.apt(["libavformat-dev", "libavcodec-dev"])]),

        // Pure core: decides. No sockets, clock, randomness, Foundation or Glibc.
        .target(name: "RelayBase", swiftSettings: strict + specialized),
        swiftTarget("WebSocketProtocol", ["RelayBase"]),
        swiftTarget("HTTPProtocol", ["RelayBase"]),
        swiftTarget("MediaProtocol", ["RelayBase"]),
        swiftTarget("RelayRooms", ["RelayBase", "MediaProtocol"]),
        // Optimized in debug builds too: it works on samples.
        .target(
            name: "JitterBuffer", dependencies: ["RelayBase", "MediaProtocol"], swiftSettings: strict + optimized + specialized,
            linkerSettings: alikeCopies),
        // Optimized in debug builds too, with its tests: they explore its states by the hundred thousand.
        .target(name: "AudioSession", dependencies: ["RelayBase"], swiftSettings: strict + optimized),
        // For apps, on Apple's platforms too: see Sources/IOS-BRIDGE.md.
        swiftTarget("AudioSessionBridge", ["AudioSession"]),
        // Which nodes there are and which is home to which room.
        swiftTarget("ClusterProtocol", ["RelayBase", "RelayRooms"]),
        swiftTarget("Signalling", ["RelayBase", "MediaProtocol", "RelayRooms", "AudioSession"]),
        // A whole relay in virtual time: the core as the loops drive it, with clients and links, from one seed.
        // Optimized in debug builds too: what it checks is the core, which is not, and a run takes a quarter of the time.
        .target(
            name: "RelaySimulator", dependencies: ["RelayBase", "MediaProtocol", "RelayRooms"],
            swiftSettings: strict + optimized),

        // Shell: does.
        swiftTarget("Reactor", ["RelayBase", "CLinux"]),
        .target(
            name: "TLSTransport", dependencies: ["RelayBase", "Reactor", "COpenSSL"], swiftSettings: strict + uncheckedExclusivity),
        swiftTarget("NATSTransport", ["RelayBase", "Reactor", "CNATS"]),
        swiftTarget("CertificateAuthority", ["RelayBase", "COpenSSL", "CLinux"]),
        swiftTarget("JOSE", ["RelayBase", "COpenSSL"]),
        swiftTarget("HTTPTransport", ["RelayBase", "HTTPProtocol", "WebSocketProtocol", "TLSTransport", "CNghttp2", "CZlib"]),
        swiftTarget("MediaFiles", ["RelayBase", "MediaProtocol", "CAVFormat", "COpus"]),
        // Sound: codecs, resampling, mixing. Optimized in debug builds too.
        .target(
            name: "AudioEngine", dependencies: ["RelayBase", "MediaProtocol", "JitterBuffer", "COpus", "CSpeexDSP"],
            swiftSettings: strict + optimized + specialized, linkerSettings: alikeCopies),
        .target(
            name: "RelayServer",
            dependencies: [
                "RelayBase", "WebSocketProtocol", "HTTPProtocol", "MediaProtocol", "JitterBuffer", "AudioEngine", "RelayRooms", "AudioSession",
                "Signalling", "Reactor", "CLinux",
                "TLSTransport", "HTTPTransport", "JOSE", "CertificateAuthority", "ClusterProtocol", "NATSTransport",
            ], swiftSettings: strict + uncheckedExclusivity),
        swiftTarget(
            "RelayClient",
            [
                "RelayBase", "WebSocketProtocol", "HTTPProtocol", "MediaProtocol", "RelayRooms", "AudioSession", "Signalling", "Reactor", "CLinux",
                "TLSTransport", "HTTPTransport",
            ]),
        .executableTarget(
            name: "segue",
            dependencies: [
                "RelayBase", "RelayRooms", "JitterBuffer", "AudioEngine", "AudioSession", "RelayServer", "RelayClient", "CertificateAuthority",
                "MediaFiles", "MediaProtocol",
                "LoadGenerator", "LoadReport",
                "Reactor",
                "Signalling",
                "CLinux",
                "TLSTransport", "HTTPProtocol", "JOSE", "COpenSSL", "CNghttp2", "COpus",
            ],
            swiftSettings: strict),

        // What load generators measured: recorded, joined, judged, told as text, JSON and a page.
        swiftTarget("LoadReport", ["RelayBase"]),
        swiftTarget(
            "LoadGenerator",
            [
                "RelayBase", "HTTPProtocol", "MediaProtocol", "RelayRooms", "Signalling", "Reactor", "TLSTransport", "RelayClient", "RelayServer",
                "LoadReport",
            ]),

        // Measures the relay; started by Benchmarks/run.
        .executableTarget(
            name: "RelayBenchmark",
            dependencies: [
                "RelayBase", "RelayClient", "Reactor", "CLinux", "MediaProtocol", "Signalling", "TLSTransport", "HTTPTransport", "WebSocketProtocol",
                "COpenSSL", "JOSE", "CapacityModel", "LoadReport", "BenchmarkSupport",
            ],
            path: "Benchmarks/RelayBenchmark",
            swiftSettings: strict),

        // Compares the relay with a floor in C and a peer under the same loads; started by Deploy/dev bench speed.
        .target(name: "BenchmarkSupport", path: "Benchmarks/Support", swiftSettings: strict),
        .executableTarget(
            name: "speed-comparison",
            dependencies: [
                "BenchmarkSupport", "LoadReport", "RelayBase", "RelayClient", "Reactor", "MediaProtocol", "Signalling", "TLSTransport",
                "HTTPTransport", "WebSocketProtocol",
            ],
            path: "Benchmarks/SpeedComparison", swiftSettings: strict),

        // Times pieces of the relay beside their floors; started by Deploy/dev bench micro.
        .executableTarget(
            name: "microbenchmarks",
            dependencies: [
                "BenchmarkSupport", "RelayBase", "WebSocketProtocol", "MediaProtocol", "RelayRooms", "Signalling", "Reactor", "TLSTransport",
                "CertificateAuthority", "JitterBuffer", "AudioEngine", "COpenSSL",
            ],
            path: "Benchmarks/Micro", swiftSettings: strict),

        // What machines carry, from what single acts cost; started by Deploy/dev bench capacity. Optimized in debug builds too: it simulates.
        .target(
            name: "CapacityModel", dependencies: ["LoadReport"], path: "Benchmarks/CapacityModel", swiftSettings: strict + optimized),
        .executableTarget(
            name: "capacity", dependencies: ["CapacityModel", "LoadReport", "BenchmarkSupport"], path: "Benchmarks/Capacity",
            exclude: ["figures.json"], swiftSettings: strict),

        // Measures codecs, jitter buffers and the mixer; started by Benchmarks/run audio.
        .executableTarget(
            name: "audio-benchmark", dependencies: ["BenchmarkSupport", "RelayBase", "MediaProtocol", "JitterBuffer", "AudioEngine"],
            path: "Benchmarks/AudioBenchmark", swiftSettings: strict),

        // Runs the simulator over many seeds, or one of them with its trace; started by Deploy/dev sim.
        .executableTarget(
            name: "relay-simulator", dependencies: ["RelayBase", "RelayRooms", "RelaySimulator"], swiftSettings: strict),

        // Real sockets on emulated links; started by `Deploy/dev real-time`.
        .target(name: "CNamespaces", path: "LoadTests/CNamespaces"),
        .target(name: "LinkEmulation", dependencies: ["RelayBase"], path: "LoadTests/LinkEmulation", swiftSettings: strict),
        .target(name: "LinkNetwork", dependencies: ["CNamespaces"], path: "LoadTests/LinkNetwork", swiftSettings: strict),
        .executableTarget(
            name: "link-emulator", dependencies: ["LinkEmulation", "LinkNetwork", "CNamespaces", "Reactor", "RelayBase"],
            path: "LoadTests/LinkEmulator", swiftSettings: strict),
        .executableTarget(
            name: "real-time",
            dependencies: [
                "RelayBase", "RelayClient", "Reactor", "MediaProtocol", "Signalling", "TLSTransport", "HTTPTransport", "WebSocketProtocol",
                "LinkNetwork", "BenchmarkSupport",
            ],
            path: "LoadTests/RealTime", swiftSettings: strict),

        // Arrival traces, and what buffers make of them; started by `Deploy/dev jitter`. Its jitter buffer of libspeexdsp is a yardstick and nothing else.
        .systemLibrary(
            name: "CSpeexJitter", path: "Benchmarks/CSpeexJitter", pkgConfig: "speexdsp", providers: [.apt(["libspeexdsp-dev"])]),
        .executableTarget(
            name: "jitter-traces",
            dependencies: ["RelayBase", "MediaProtocol", "JitterBuffer", "AudioEngine", "LinkNetwork", "CNamespaces", "CSpeexJitter"],
            path: "Benchmarks/JitterTraces", exclude: ["README.md", "Recorded"], swiftSettings: strict + optimized),

        // Tests.
        testTarget("LinkEmulationTests", ["LinkEmulation", "RelayBase"]),
        testTarget("RealTimeTests", ["real-time", "MediaProtocol", "RelayBase"]),
        testTarget("RelayBaseTests", ["RelayBase"]),
        testTarget("WebSocketProtocolTests", ["WebSocketProtocol", "RelayBase"]),
        testTarget("HTTPProtocolTests", ["HTTPProtocol", "RelayBase"]),
        testTarget("MediaProtocolTests", ["MediaProtocol", "RelayBase"]),
        .testTarget(name: "JitterBufferTests", dependencies: ["JitterBuffer", "MediaProtocol", "RelayBase"], swiftSettings: strict + optimized),
        .testTarget(
            name: "AudioEngineTests", dependencies: ["AudioEngine", "JitterBuffer", "MediaProtocol", "RelayBase"],
            swiftSettings: strict + optimized),
        .testTarget(
            name: "JitterTracesTests", dependencies: ["jitter-traces", "JitterBuffer", "RelayBase"], exclude: ["Fixtures"],
            swiftSettings: strict + optimized),
        testTarget("NATSTransportTests", ["NATSTransport", "Reactor", "RelayBase"]),
        testTarget("ClusterProtocolTests", ["ClusterProtocol", "RelayBase", "RelayRooms"]),
        testTarget("RelayRoomsTests", ["RelayRooms", "MediaProtocol", "RelayBase"]),
        testTarget("RelaySimulatorTests", ["RelaySimulator", "RelayBase"]),
        .testTarget(name: "AudioSessionTests", dependencies: ["AudioSession", "RelayBase"], swiftSettings: strict + optimized),
        testTarget("AudioSessionBridgeTests", ["AudioSessionBridge", "AudioSession", "Signalling"]),
        testTarget("SignallingTests", ["Signalling", "AudioSession", "RelayRooms", "MediaProtocol", "RelayBase"]),
        testTarget("ReactorTests", ["Reactor", "RelayBase", "CLinux"]),
        testTarget("TLSTransportTests", ["TLSTransport", "CertificateAuthority", "Reactor", "RelayBase"]),
        testTarget("JOSETests", ["JOSE", "RelayBase"]),
        testTarget("CertificateAuthorityTests", ["CertificateAuthority", "RelayBase", "CLinux"]),
        testTarget("HTTPTransportTests", ["HTTPTransport", "CNghttp2", "CZlib", "HTTPProtocol", "WebSocketProtocol", "RelayBase"]),
        testTarget("MediaFilesTests", ["MediaFiles", "MediaProtocol", "RelayBase"]),
        testTarget(
            "RelayClientTests",
            [
                "RelayClient", "RelayServer", "RelayRooms", "AudioSession", "CertificateAuthority", "Signalling", "MediaProtocol",
                "WebSocketProtocol",
                "TLSTransport",
                "HTTPProtocol",
                "HTTPTransport", "Reactor", "RelayBase", "CLinux",
            ]),
        testTarget(
            "RelayServerTests",
            [
                "RelayServer", "CertificateAuthority", "JOSE", "RelayRooms", "AudioSession", "JitterBuffer", "MediaProtocol", "Signalling",
                "HTTPProtocol", "TLSTransport", "Reactor",
                "RelayBase",
            ]),
        testTarget(
            "SegueTests",
            [
                "segue", "RelayServer", "CertificateAuthority", "TLSTransport", "Reactor", "RelayBase", "Signalling", "MediaProtocol", "MediaFiles",
                "JitterBuffer", "AudioEngine",
            ]),
        testTarget("LoadReportTests", ["LoadReport", "RelayBase"]),
        testTarget("LoadGeneratorTests", ["LoadGenerator", "LoadReport", "MediaProtocol", "Signalling", "RelayServer"]),
        testTarget("CapacityModelTests", ["CapacityModel", "LoadReport"]),
        testTarget("StructureTests", ["RelayBase", "CapacityModel"]),
    ]
)
