//! What guests are granted and hold, and how far changes of that have come. Nothing here touches a device: the service does
//! what has to be done, as [`transfer`](crate::transfer) says.

pub(crate) mod access;
pub(crate) mod grants;
pub(crate) mod guest;
pub mod policy;
pub(crate) mod request;
pub(crate) mod state;
