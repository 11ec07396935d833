//! The structures that the functions take and fill in.

/// A version of an API group; 0.0 stands for "not negotiated".
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sun4v_version {
    /// The major number.
    pub major: u64,
    /// The minor number.
    pub minor: u64,
}

const _: () = assert!(size_of::<sun4v_version>() == 16 && size_of::<sun4v_count>() == 16);
const _: () = assert!(size_of::<sun4v_present>() == 16);

/// What the probe found. Bit n of each member is for unit n of `enum sun4v_unit`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sun4v_present {
    /// The unit exists: the status was neither EINVAL nor ENOTSUPPORTED.
    pub units: u32,
    /// The unit exists, and the guest may not use it, or it is out of service: ENOACCESS.
    pub refused: u32,
    /// The unit exists, and its hub was taken at that moment: EWOULDBLOCK.
    pub busy: u32,
    /// Another status, which says nothing about the unit. illumos takes it as existing.
    pub unclear: u32,
}

/// A count of 64 bits, made from the values of a narrower counter. All zeros is the count of a counter that held 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sun4v_count {
    /// The events since the counter was first read.
    pub events: u64,
    /// The value of the counter when it was last read or written; of a DRAM counter, with its flag in bit 31.
    pub last: u64,
}
