//! Rights pass from guest to guest.
