//! Models of the service. Each model is checked in every reachable state, and is written so that it can be read as the specification.
//!
//! The functions of [`perfctr_service::decisions`] compute the result of an action, as they do in the service. The model states what
//! strands, guests and the operator may do, and what must hold. A claim that something eventually happens is stated as a bound on the
//! number of steps, which must hold in each state.

#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "a comment that repeats a name says nothing, and only the checks use this crate"
)]

pub mod check;
pub mod explore;
pub mod gate;
pub mod models;
pub mod product;
pub mod rights;
