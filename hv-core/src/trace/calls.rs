//! The events of the hypervisor itself.

use super::event::STATUSES;

crate::events! {
    /// The events of `hv-core`, with numbers below 8. An event that describes a call has the time at which the call ended.
    #[non_exhaustive]
    pub enum HypervisorEvent {
        /// A guest negotiated a version of a group, or released the group, with `api_set_version`.
        1 SetVersion "set_version" {
            status: u16 = STATUSES,
            guest: u8 = Number,
            strand: u8 = Number,
            duration: u32 = Number,
            group: u64 = Hex,
            /// The requested major number; 0 releases the group.
            major: u64 = Number,
            /// The requested minor number. The granted minor number is at most this number.
            minor: u64 = Number,
            granted: u64 = Number,
        }
        /// A guest made a FAST call that no service claims.
        2 FastCall "fast_call" {
            status: u16 = STATUSES,
            guest: u8 = Number,
            strand: u8 = Number,
            duration: u32 = Number,
            function: u64 = Hex,
        }
        /// A guest was reset, and lost the versions that it had negotiated.
        3 GuestReset "guest_reset" {
            guest: u16 = Number,
            /// The strand that executed the reset.
            strand: u16 = Number,
        }
        /// Only shows that time has passed: a reader learns that the clock bits of short headers may have wrapped. See
        /// [`Conditions::max_heartbeat_interval`](crate::trace::Conditions::max_heartbeat_interval).
        4 Heartbeat "heartbeat" {
            strand: u32 = Number,
        }
    }
}
