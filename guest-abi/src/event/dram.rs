//! Events of a DRAM channel.
//!
//! What is counted is known of the UltraSPARC T2, whose register transfer level is public. That of the T2 Plus is not.

super::events! {
    /// What a DRAM counter counts.
    DramEvent: u8 {
        /// Reads.
        Reads = 0, "mem_reads";
        /// Writes.
        Writes = 1, "mem_writes";
        /// Reads and writes.
        ReadWrites = 2, "mem_read_write";
        /// Stalls because a bank is busy, on the UltraSPARC T2. Solaris does not name it, and what the T2 Plus counts is unknown.
        BankBusyStalls = 3, "bank_busy_stall";
        /// Entries of the read queue, added up every cycle.
        ReadQueueLatency = 4, "rd_queue_latency";
        /// Entries of the write queue, added up every cycle.
        WriteQueueLatency = 5, "wr_queue_latency";
        /// Entries of both queues, added up every cycle.
        ReadWriteQueueLatency = 6, "rw_queue_latency";
        /// Reads that meet a write of their line in the write queue, and are held back for it.
        WriteBackBufferHits = 7, "wb_buf_hits";
    }
}
