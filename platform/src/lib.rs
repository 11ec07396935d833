//! Victoria Falls and Zambezi hardware: machines, addresses, access, device models.
#![no_std]
