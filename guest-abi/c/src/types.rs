//! The structures that the C functions take and fill in.

/// A version of an API group; 0.0 stands for "not negotiated".
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sun4v_version {
    /// Versions with different major numbers are incompatible.
    pub major: u64,
    /// A higher minor number only adds calls and registers.
    pub minor: u64,
}

const _: () = assert!(size_of::<sun4v_version>() == 16 && size_of::<sun4v_count>() == 16);
const _: () = assert!(size_of::<sun4v_present>() == 16);

/// The result of a probe. Bit n of each member stands for unit n of `enum sun4v_unit`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sun4v_present {
    /// The unit exists: the status was neither EINVAL nor ENOTSUPPORTED.
    pub units: u32,
    /// The unit exists, but the guest may not use it, or it is out of service: ENOACCESS.
    pub refused: u32,
    /// The unit exists, but its hub was taken at that moment: EWOULDBLOCK.
    pub busy: u32,
    /// Another status, which says nothing about the unit. illumos treats the unit as present.
    pub unclear: u32,
}

/// A 64-bit count from a narrower counter. If the counter holds 0, start with both members 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sun4v_count {
    /// The events since the counter was first read.
    pub events: u64,
    /// The value of the counter at the last read or write; a DRAM counter has its flag in bit 31.
    pub last: u64,
}
