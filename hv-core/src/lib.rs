//! From a sun4v trap to a call: registers, version negotiation, dispatch.
#![no_std]
