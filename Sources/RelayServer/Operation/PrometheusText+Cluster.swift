/// Of a relay that is one of several. A relay that is alone exports none of these.
extension PrometheusText {
    mutating func cluster(_ cluster: ClusterCounters, _ sum: LoopCounters) {
        single("segue_cluster_connected", "gauge", "1 while the node reaches NATS.", cluster.isConnected ? 1 : 0)
        single("segue_cluster_node", "gauge", "The node's number in its cluster; 0: none yet.", Double(cluster.node))
        single("segue_cluster_nodes", "gauge", "Other nodes that are there.", Double(cluster.nodes))
        byLabel(
            "segue_cluster_rooms", "gauge", "Rooms that this node is home to, and rooms of other nodes with members here.", "place",
            ["here": UInt64(cluster.roomsHere), "elsewhere": UInt64(cluster.roomsElsewhere)])
        single("segue_cluster_disconnects_total", "counter", "Times that NATS was lost.", Double(cluster.disconnects))
        byLabel(
            "segue_cluster_messages_total", "counter", "Control messages between nodes.", "direction",
            ["in": cluster.messagesIn, "out": cluster.messagesOut])
        byLabel(
            "segue_cluster_frames_total", "counter", "Media frames between nodes.", "direction", ["in": cluster.framesIn, "out": cluster.framesOut])
        byLabel(
            "segue_cluster_media_bytes_total", "counter", "Bytes of media between nodes, with what goes before each frame.", "direction",
            ["in": cluster.mediaBytesIn, "out": cluster.mediaBytesOut])
        single("segue_cluster_media_batches_total", "counter", "Messages that media went to other nodes in.", Double(cluster.mediaBatchesOut))
        single(
            "segue_cluster_rooms_taken_total", "counter", "Rooms that this node got from another that is gone or goes away.",
            Double(cluster.roomsTaken))
        single(
            "segue_cluster_repairs_total", "counter", "News of rooms that clients heard late, after nodes had not heard each other.",
            Double(cluster.repairs))
        byLabel("segue_cluster_lost_total", "counter", "What did not get to another node, or from it.", "reason", cluster.losses)
        single("segue_sessions_handed_over_total", "counter", "Sessions that went on on another node.", Double(sum.sessionsHandedOver))
    }
}
