//! Models of the decisions that ship, checked in every reachable state.
//!
//! Each model is a state, actions and properties. What follows from an action is computed by the function of
//! [`perfctr_service::decisions`] that the service itself calls; around it the model says what strands, guests and the
//! operator may do, and what must hold. Read a model as the specification.
//!
//! - [`gate`]: the arbitration of a hub.
//! - [`busy`]: hubs that stay busy.
//! - [`rights`]: rights that pass from guest to guest.
//! - [`product`]: what guests learn of each other.
//!
//! Progress is stated as a bound, which holds in each state, and not as something that happens eventually.

#![forbid(unsafe_code)]

pub mod busy;
pub mod check;
pub mod explore;
pub mod gate;
pub mod models;
pub mod product;
pub mod rights;
