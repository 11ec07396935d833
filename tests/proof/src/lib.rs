//! Models of the decisions that ship, checked in every reachable state.
//!
//! Each model has a state, actions and properties. The functions of [`perfctr_service::decisions`] compute what follows from an
//! action, as they do in the service. Around them the model states what strands, guests and the operator may do, and what must
//! hold. Read a model as the specification.
//!
//! - [`gate`]: the arbitration of a hub.
//! - [`busy`]: hubs that stay busy.
//! - [`rights`]: rights that pass from guest to guest.
//! - [`product`]: what guests learn of each other.
//!
//! Progress is stated as a bound that holds in each state, and not as an event that happens eventually.

#![forbid(unsafe_code)]

pub mod busy;
pub mod check;
pub mod explore;
pub mod gate;
pub mod models;
pub mod product;
pub mod rights;
