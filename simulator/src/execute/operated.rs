//! The operator reaches the executing hypervisor through its mailbox.

use guest_abi::StrandId;
use perfctr_service::mailbox::Step;
use platform::models::Devices;

use super::Execution;
use crate::operator::{Answer, Operated};

impl Operated for Execution {
    fn devices(&self) -> &Devices {
        self.devices()
    }

    fn ask(&mut self, on: StrandId, request: &Step) -> Result<(), String> {
        self.operate(on, request).map_err(|error| error.to_string())
    }

    fn answer(&mut self) -> Option<Answer> {
        self.operated()
    }

    fn stop(&mut self, strand: StrandId) {
        self.park(strand);
    }
}
