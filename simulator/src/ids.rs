//! Strands, counters, registers and other things that have numbers. In JSON, they are these numbers.

use guest_abi::{Counter, Hub, Mcu, Node, PerfReg, StrandId};
use hv_core::GuestId;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A thing that has a number, several such things, or one that may be missing.
pub(crate) trait Ids: Sized {
    type Numbers: Serialize + DeserializeOwned;

    fn numbers(&self) -> Self::Numbers;

    /// Returns the things that have these numbers. The error is a sentence without a full stop.
    fn with(numbers: Self::Numbers) -> Result<Self, String>;
}

macro_rules! ids {
    ($($type:ident $what:literal),* $(,)?) => {$(
        impl Ids for $type {
            type Numbers = u64;

            fn numbers(&self) -> u64 {
                self.index() as u64
            }

            fn with(number: u64) -> Result<Self, String> {
                let found = number.try_into().ok().and_then(Self::new);
                found.ok_or_else(|| format!("there is no {} {number}", $what))
            }
        }
    )*};
}

ids! {
    Node "node", Hub "hub", Mcu "memory channel", Counter "counter", StrandId "strand", GuestId "guest",
    PerfReg "register",
}

impl<T: Ids> Ids for Option<T> {
    type Numbers = Option<T::Numbers>;

    fn numbers(&self) -> Self::Numbers {
        self.as_ref().map(T::numbers)
    }

    fn with(number: Self::Numbers) -> Result<Self, String> {
        number.map(T::with).transpose()
    }
}

impl<T: Ids> Ids for Vec<T> {
    type Numbers = Vec<T::Numbers>;

    fn numbers(&self) -> Self::Numbers {
        self.iter().map(T::numbers).collect()
    }

    fn with(numbers: Self::Numbers) -> Result<Self, String> {
        numbers.into_iter().map(T::with).collect()
    }
}

pub(crate) fn serialize<S: Serializer>(ids: &impl Ids, to: S) -> Result<S::Ok, S::Error> {
    ids.numbers().serialize(to)
}

pub(crate) fn deserialize<'de, T: Ids, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    T::with(T::Numbers::deserialize(from)?).map_err(Error::custom)
}
