//! What the hypervisor itself records.

use super::event::STATUSES;

crate::events! {
    /// The events of `hv-core`, numbers 1 to 7.
    ///
    /// The time of a call is that of its end, and its duration is in ticks, `u32::MAX` for any more.
    pub enum HypervisorEvent {
        /// A guest negotiated a version, or gave one up: `api_set_version`.
        1 SetVersion "set_version" {
            /// How the call ended.
            status: u16 = STATUSES,
            /// Which guest called.
            guest: u8 = Number,
            /// On which strand.
            strand: u8 = Number,
            /// How long the call took.
            duration: u32 = Number,
            /// The API group.
            group: u64 = Hex,
            /// The major number that was asked for; 0 gives the group up.
            major: u64 = Number,
            /// The minor number that was asked for.
            minor: u64 = Number,
            /// The minor number that was granted.
            granted: u64 = Number,
        }
        /// A FAST call that no service claims.
        2 FastCall "fast_call" {
            /// How the call ended.
            status: u16 = STATUSES,
            /// Which guest called.
            guest: u8 = Number,
            /// On which strand.
            strand: u8 = Number,
            /// How long the call took.
            duration: u32 = Number,
            /// The number of the function.
            function: u64 = Hex,
        }
        /// A guest was reset: nothing is negotiated.
        3 GuestReset "guest_reset" {
            /// Which guest.
            guest: u16 = Number,
            /// On which strand this was executed.
            strand: u16 = Number,
        }
    }
}
