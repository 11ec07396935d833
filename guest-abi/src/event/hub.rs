//! Events of the three kinds of PMUs of a Zambezi hub.

super::events! {
    /// What a link port unit counts. X, Y and Z are the three other ports of the hub.
    LpuEvent: u8 {
        /// Nothing.
        None = 0x00, "none";
        /// Clock cycles.
        Clock = 0x01, "clock_cycles";
        /// Cache-to-cache transfers by way of port X.
        CacheToCacheX = 0x02, "cycles_c2c_portX";
        /// Memory accesses by way of port X.
        MemoryX = 0x03, "cycles_mem_portX";
        /// Write-backs by way of port X.
        WriteBackX = 0x04, "cycles_WB_portX";
        /// Non-cacheable accesses by way of port X.
        NonCacheableX = 0x05, "cycles_NC_portX";
        /// Cache-to-cache transfers by way of port Y.
        CacheToCacheY = 0x06, "cycles_c2c_portY";
        /// Memory accesses by way of port Y.
        MemoryY = 0x07, "cycles_mem_portY";
        /// Write-backs by way of port Y.
        WriteBackY = 0x08, "cycles_WB_portY";
        /// Non-cacheable accesses by way of port Y.
        NonCacheableY = 0x09, "cycles_NC_portY";
        /// Cache-to-cache transfers by way of port Z.
        CacheToCacheZ = 0x0a, "cycles_c2c_portZ";
        /// Memory accesses by way of port Z.
        MemoryZ = 0x0b, "cycles_mem_portZ";
        /// Write-backs by way of port Z.
        WriteBackZ = 0x0c, "cycles_WB_portZ";
        /// Non-cacheable accesses by way of port Z.
        NonCacheableZ = 0x0d, "cycles_NC_portZ";
        /// Transaction ids held by write-backs.
        TidWriteBack = 0x0e, "cycles_TID_WB";
        /// Transaction ids held by invalidations.
        TidInvalidate = 0x0f, "cycles_TID_INV";
        /// Transaction ids held by reads to discard.
        TidReadToDiscard = 0x10, "cycles_TID_RTD";
        /// Transaction ids held by reads to own.
        TidReadToOwn = 0x11, "cycles_TID_RTO";
        /// Transaction ids held by reads to share.
        TidReadToShare = 0x12, "cycles_TID_RTS";
        /// Merged writes of the input and output system.
        IoWriteMerge = 0x13, "cycles_IO_WRM";
        /// Reads of the input and output system.
        IoRead = 0x14, "cycles_IO_RD";
        /// Write-backs sent to the node.
        WriteBackEgress = 0x15, "cycles_WB_egress";
        /// Invalidations sent to the node.
        InvalidateEgress = 0x16, "cycles_INV_egress";
        /// Reads to own sent to the node.
        ReadToOwnEgress = 0x17, "cycles_RTO_egress";
        /// Reads to discard sent to the node.
        ReadToDiscardEgress = 0x18, "cycles_RTD_egress";
        /// Reads to share sent to the node.
        ReadToShareEgress = 0x19, "cycles_RTS_egress";
        /// Cycles without a write-back.
        NoWriteBack = 0x1a, "cycles_no_WB";
        /// Cycles without a read or an invalidation.
        NoReadOrInvalidate = 0x1b, "cycles_no_read/inv";
        /// Snoops that found the line modified.
        HitModified = 0x1c, "cycles_HIT_M";
        /// Snoops that found the line owned.
        HitOwned = 0x1d, "cycles_HIT_O";
        /// Snoops that found the line shared.
        HitShared = 0x1e, "cycles_HIT_S";
        /// Snoops that found the line in a write-back to memory.
        HitWriteBack = 0x1f, "cycles_WB_HIT";
        /// Snoops that missed.
        Miss = 0x20, "cycles_MISS";
        /// Reads and invalidations received from the node.
        ReadOrInvalidate = 0x21, "cycles_READ_or_INV";
        /// Write-backs received from the node.
        WriteBack = 0x22, "cycles_WB";
        /// Replies without data.
        NoDataReply = 0x23, "cycles_NDR";
        /// Requests of the node that no other cache could serve.
        CacheMiss = 0x24, "cycles_cache_miss";
        /// Requests of the node that another cache served.
        CacheHit = 0x25, "cycles_cache_hit";
        /// CRC errors of the link.
        CrcErrors = 0x26, "cycles_CRC_errors";
        /// Link replies sent.
        RepliesSent = 0x27, "cycles_replys_sent";
        /// Link replies received.
        RepliesReceived = 0x28, "cycles_replys_recev";
        /// Link retrainings.
        LinkRetrain = 0x29, "cycles_link_retrain";
    }
}

super::events! {
    /// What the general purpose design block counts.
    GpdEvent: u8 {
        /// Nothing.
        None = 0, "none";
        /// Clock cycles.
        Clock = 1, "clock_cycles";
    }
}

super::events! {
    /// What the address serialization unit counts.
    AsuEvent: u8 {
        /// Nothing.
        None = 0, "none";
        /// Clock cycles.
        Clock = 1, "clock_cycles";
        /// Packets in.
        PacketsIn = 2, "asu_in_pck";
        /// Packets out.
        PacketsOut = 3, "asu_out_pck";
        /// Hits of the CAM of addresses in flight.
        CamHit = 4, "asu_CAM_hit";
        /// Wake-ups of requests that waited for an address.
        Wakeup = 5, "asu_wakeup";
    }
}
