//! Events of the three kinds of PMU in a Zambezi hub.

super::events! {
    /// An event of a link port unit. X, Y and Z are the three other ports of the hub.
    LpuEvent "event of a link port unit": u8 {
        None = 0x00, "none", "Nothing.";
        Clock = 0x01, "clock_cycles", "Clock cycles.";
        CacheToCacheX = 0x02, "cycles_c2c_portX", "Cache-to-cache transfers by way of port X.";
        MemoryX = 0x03, "cycles_mem_portX", "Memory accesses by way of port X.";
        WriteBackX = 0x04, "cycles_WB_portX", "Write-backs by way of port X.";
        NonCacheableX = 0x05, "cycles_NC_portX", "Non-cacheable accesses by way of port X.";
        CacheToCacheY = 0x06, "cycles_c2c_portY", "Cache-to-cache transfers by way of port Y.";
        MemoryY = 0x07, "cycles_mem_portY", "Memory accesses by way of port Y.";
        WriteBackY = 0x08, "cycles_WB_portY", "Write-backs by way of port Y.";
        NonCacheableY = 0x09, "cycles_NC_portY", "Non-cacheable accesses by way of port Y.";
        CacheToCacheZ = 0x0a, "cycles_c2c_portZ", "Cache-to-cache transfers by way of port Z.";
        MemoryZ = 0x0b, "cycles_mem_portZ", "Memory accesses by way of port Z.";
        WriteBackZ = 0x0c, "cycles_WB_portZ", "Write-backs by way of port Z.";
        NonCacheableZ = 0x0d, "cycles_NC_portZ", "Non-cacheable accesses by way of port Z.";
        TidWriteBack = 0x0e, "cycles_TID_WB", "Transaction ids held by write-backs.";
        TidInvalidate = 0x0f, "cycles_TID_INV", "Transaction ids held by invalidations.";
        TidReadToDiscard = 0x10, "cycles_TID_RTD", "Transaction ids held by reads to discard.";
        TidReadToOwn = 0x11, "cycles_TID_RTO", "Transaction ids held by reads to own.";
        TidReadToShare = 0x12, "cycles_TID_RTS", "Transaction ids held by reads to share.";
        IoWriteMerge = 0x13, "cycles_IO_WRM", "Merged writes of the input and output system.";
        IoRead = 0x14, "cycles_IO_RD", "Reads of the input and output system.";
        WriteBackEgress = 0x15, "cycles_WB_egress", "Write-backs sent to the node.";
        InvalidateEgress = 0x16, "cycles_INV_egress", "Invalidations sent to the node.";
        ReadToOwnEgress = 0x17, "cycles_RTO_egress", "Reads to own sent to the node.";
        ReadToDiscardEgress = 0x18, "cycles_RTD_egress", "Reads to discard sent to the node.";
        ReadToShareEgress = 0x19, "cycles_RTS_egress", "Reads to share sent to the node.";
        NoWriteBack = 0x1a, "cycles_no_WB", "Cycles without a write-back.";
        NoReadOrInvalidate = 0x1b, "cycles_no_read/inv", "Cycles without a read or an invalidation.";
        HitModified = 0x1c, "cycles_HIT_M", "Snoops that found the line modified.";
        HitOwned = 0x1d, "cycles_HIT_O", "Snoops that found the line owned.";
        HitShared = 0x1e, "cycles_HIT_S", "Snoops that found the line shared.";
        HitWriteBack = 0x1f, "cycles_WB_HIT", "Snoops that found the line in a write-back to memory.";
        Miss = 0x20, "cycles_MISS", "Snoops that missed.";
        ReadOrInvalidate = 0x21, "cycles_READ_or_INV", "Reads and invalidations received from the node.";
        WriteBack = 0x22, "cycles_WB", "Write-backs received from the node.";
        NoDataReply = 0x23, "cycles_NDR", "Replies without data.";
        CacheMiss = 0x24, "cycles_cache_miss", "Requests of the node that no other cache could serve.";
        CacheHit = 0x25, "cycles_cache_hit", "Requests of the node that another cache served.";
        CrcErrors = 0x26, "cycles_CRC_errors", "CRC errors of the link.";
        RepliesSent = 0x27, "cycles_replys_sent", "Link replies sent.";
        RepliesReceived = 0x28, "cycles_replys_recev", "Link replies received.";
        LinkRetrain = 0x29, "cycles_link_retrain", "Link retrainings.";
    }
}

super::events! {
    /// An event that the counters of a hub's general purpose design block can count.
    GpdEvent "event of a general purpose design block": u8 {
        None = 0, "none", "Nothing.";
        Clock = 1, "clock_cycles", "Clock cycles.";
    }
}

super::events! {
    /// An event that the counters of a hub's address serialization unit can count.
    AsuEvent "event of an address serialization unit": u8 {
        None = 0, "none", "Nothing.";
        Clock = 1, "clock_cycles", "Clock cycles.";
        PacketsIn = 2, "asu_in_pck", "Packets in.";
        PacketsOut = 3, "asu_out_pck", "Packets out.";
        CamHit = 4, "asu_CAM_hit", "Hits of the CAM of addresses in flight.";
        Wakeup = 5, "asu_wakeup", "Wake-ups of requests that waited for an address.";
    }
}
