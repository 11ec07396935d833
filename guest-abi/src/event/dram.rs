//! Events of a DRAM channel.
//!
//! The descriptions come from the UltraSPARC T2, whose register transfer level (RTL) is public. The RTL of the T2 Plus is not.

super::events! {
    /// An event that the counters of a DRAM channel can count.
    DramEvent "event of a DRAM channel": u8 {
        Reads = 0, "mem_reads", "Reads.";
        Writes = 1, "mem_writes", "Writes.";
        ReadWrites = 2, "mem_read_write", "Reads and writes.";
        BankBusyStalls = 3, "bank_busy_stall",
            "Stalls because a bank is busy, on the UltraSPARC T2. Solaris does not name it, and what the T2 Plus counts is unknown.";
        ReadQueueLatency = 4, "rd_queue_latency", "Entries of the read queue, added up every cycle.";
        WriteQueueLatency = 5, "wr_queue_latency", "Entries of the write queue, added up every cycle.";
        ReadWriteQueueLatency = 6, "rw_queue_latency", "Entries of both queues, added up every cycle.";
        WriteBackBufferHits = 7, "wb_buf_hits",
            "Reads that meet a write of their line in the write queue, and are held back for it.";
    }
}
