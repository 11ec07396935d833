//! The sun4v performance counter service: register table, policy, arbitration, get and set.
#![no_std]
