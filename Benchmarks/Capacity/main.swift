import BenchmarkSupport
import CapacityModel
import Glibc
import LoadReport

/// The command line.
struct CapacityOptions {
    static let help = """
        Usage: Deploy/dev bench capacity [OPTIONS]

        Prints what one core, one node and several nodes carry, from what single acts cost, and what the model takes as given. Costs are those of
        Benchmarks/Capacity/figures.json.

          --measure             measure the costs anew and keep them there (three minutes; nothing else should run)
          --check               hold the model against one run of LoadTests/run conference
          --write               put the sizing table into README.md
          --figures FILE        other costs
          --cores N --memory GIB --egress GBITS --nodes N   another node (8, 16, 10), and so many of them (10)
        """

    var figures = "Benchmarks/Capacity/figures.json"
    var document: String?
    var report: String?
    var bytesPerFrame = 160.0
    var node = NodeShape.node
    var nodes = SizingTable.nodes
    var wantsHelp = false

    /// `nil`: not understood.
    init?(_ arguments: [String]) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--help" || argument == "-h" {
                wantsHelp = true
                continue
            }
            guard let value = rest.popFirst() else { return nil }
            switch argument {
            case "--figures": figures = value
            case "--document": document = value
            case "--report": report = value
            default:
                guard let number = Double(value), number > 0, number <= 1e6 else { return nil }
                switch argument {
                case "--bytes": bytesPerFrame = number
                case "--cores": node.cores = number
                case "--memory": node.memoryGiB = number
                case "--egress": node.egressGigabitsPerSecond = number
                case "--nodes": nodes = number
                default: return nil
                }
            }
        }
    }
}

func fail(_ text: String, _ code: Int32) -> Never {
    let line = Array("capacity: \(text)\n".utf8)
    _ = unsafe write(2, line, line.count)
    exit(code)
}

guard let options = CapacityOptions(Array(CommandLine.arguments.dropFirst())) else { fail("not understood; see --help", 64) }
if options.wantsHelp {
    print(CapacityOptions.help)
    exit(0)
}
guard let json = SmallFile.text(options.figures) else { fail("\(options.figures) cannot be read; --measure makes it", 66) }
let figures: CostFigures
do { figures = try CostFigures(json: Array(json.utf8)) } catch { fail("\(options.figures): \(error)", 65) }
let model = CapacityModel(figures)

if let path = options.report {
    guard let json = SmallFile.text(path), let report = try? LoadReport(json: Array(json.utf8)) else {
        fail("\(path) is no report of segue load", 65)
    }
    guard let text = LoadCheck.text(figures, report, bytesPerFrame: options.bytesPerFrame) else { fail("\(path) has no figures of the relay", 65) }
    print(text)
    exit(0)
}

print("What single acts cost, on \(figures.machine), \(figures.date)\n")
print(SizingTable.costs(figures))
print("\nWhat they carry\n")
print(SizingTable.table(model, core: .core, node: options.node, nodes: options.nodes))
print("\n" + SizingTable.trust(figures) + "\n")
print(SizingTable.simulated(model))
print("\nTaken as given\n")
for assumption in Assumption.text { print("- \(assumption)") }

if let path = options.document {
    guard let text = SmallFile.text(path), let document = SizingTable.placed(SizingTable.readme(figures), in: text) else {
        fail("\(path) lacks the line \(SizingTable.start), or cannot be read", 65)
    }
    guard SmallFile.replace(path, with: document) else { fail("\(path) cannot be written", 73) }
    print("\nThe table is in \(path).")
}
