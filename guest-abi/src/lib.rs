//! The sun4v performance counter contract (API group 0x205), and a guest's side of it.
#![no_std]
