import Glibc
import LoadReport
import Testing

@Suite("Looks at a relay")
struct RelayLookTests {
    private static let metrics = """
        # HELP segue_frames_total Where frames due to subscribers ended.
        # TYPE segue_frames_total counter
        segue_frames_total{end="delivered"} 1200
        segue_frames_total{end="expired"} 3
        segue_sends_total 40
        segue_loop_iteration_seconds_bucket{loop="0",le="0.001"} 90
        segue_loop_iteration_seconds_bucket{loop="0",le="0.002"} 99
        segue_loop_iteration_seconds_bucket{loop="0",le="+Inf"} 100
        segue_loop_iteration_seconds_bucket{loop="1",le="0.001"} 10
        segue_loop_iteration_seconds_bucket{loop="1",le="0.002"} 10
        segue_loop_iteration_seconds_bucket{loop="1",le="+Inf"} 10
        not a sample
        """

    @Test("Prometheus' text format: sums, labels, histograms of all loops together")
    func samples() {
        let samples = PrometheusSamples(Self.metrics)
        #expect(samples["segue_sends_total"] == 40)
        #expect(samples["segue_frames_total"] == 1_203)
        #expect(samples["segue_none"] == nil)
        #expect(samples.byLabel("segue_frames_total", "end") == ["delivered": 1_200, "expired": 3])
        let buckets = samples.histogram("segue_loop_iteration_seconds")
        #expect(buckets.map(\.bound) == [0.001, 0.002, .infinity])
        #expect(buckets.map(\.count) == [100, 109, 110])
        #expect(PrometheusSamples.quantile(0.9, of: buckets) == 0.001)
        #expect(PrometheusSamples.quantile(0.99, of: buckets) == 0.002)
        #expect(PrometheusSamples.quantile(0.999, of: buckets) == nil)
        let since = samples.histogram("segue_loop_iteration_seconds", since: samples)
        #expect(since.map(\.count) == [0, 0, 0])
        #expect(PrometheusSamples.quantile(0.5, of: since) == nil)
    }

    @Test("a process is seen: its time grows by what it used, its memory is there")
    func process() throws {
        let pid = getpid()
        let before = try ProcessSample.of(pid: pid)
        #expect(before.rssBytes > 1 << 20)
        #expect(before.threads >= 1)
        let walked = try ProcessSample.of(pid: pid, walksPages: true)
        #expect(walked.rssBytes > 1 << 20)
        var used = timespec()
        unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)
        let wanted = used.tv_sec * 1_000_000_000 + used.tv_nsec + 60_000_000
        while used.tv_sec * 1_000_000_000 + used.tv_nsec < wanted { unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) }
        let after = try ProcessSample.of(pid: pid)
        #expect(after.since(before).cpuSeconds >= 0.05)
    }

    @Test("a process that is not there is refused")
    func gone() {
        #expect(throws: ProcessSampleError.self) { try ProcessSample.of(pid: Int32.max) }
    }
}
