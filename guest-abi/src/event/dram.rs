//! Events of a DRAM channel.

super::events! {
    /// What a DRAM counter counts.
    DramEvent: u8 {
        /// Reads.
        Reads = 0, "mem_reads";
        /// Writes.
        Writes = 1, "mem_writes";
        /// Reads and writes.
        ReadWrites = 2, "mem_read_write";
        /// Entries of the read queue, added up every cycle.
        ReadQueueLatency = 4, "rd_queue_latency";
        /// Entries of the write queue, added up every cycle.
        WriteQueueLatency = 5, "wr_queue_latency";
        /// Entries of both queues, added up every cycle.
        ReadWriteQueueLatency = 6, "rw_queue_latency";
        /// Reads answered from the write-back buffer.
        WriteBackBufferHits = 7, "wb_buf_hits";
    }
}
