//! Compares version negotiation with a model, for all sequences of requests up to a length that each test states. The model follows the
//! sun4v specification, "API versioning".

use guest_abi::{ApiGroup, Registers, StrandId, Version};
use hv_core::{
    CallError, Caller, Context, Group, GuestId, Hypervisor, Negotiated, NegotiatedVersion,
    NoConsole, Reply, Service, Strand, TrapOutcome,
};

/// A group with two major numbers. Its one function returns the version in which it is called.
struct Two;

/// A group with one version.
struct One;

impl Group for Two {
    const NUMBER: ApiGroup = ApiGroup(0x300);
    const VERSIONS: &'static [Version] =
        &[Version::V1_0, Version::V1_1, Version::new(2, 0), Version::new(2, 1), Version::new(2, 2)];
    const FUNCTIONS: &'static [u64] = &[0x300];
}

impl Group for One {
    const NUMBER: ApiGroup = ApiGroup(0x301);
    const VERSIONS: &'static [Version] = &[Version::V1_0];
    const FUNCTIONS: &'static [u64] = &[0x301];
}

struct Server<G>(std::marker::PhantomData<fn() -> G>);

impl<G: Group + 'static> Service for Server<G> {
    type Group = G;
    type Context<'a> = Self;

    fn context<'a>(&'a self, _: Caller, _: &'a Negotiated<G>) -> Self {
        Self(self.0)
    }

    fn guest_reset(&self, _: GuestId, _: StrandId) {}
}

impl<G: Group + 'static> Context for Server<G> {
    type Group = G;

    fn call(
        &self,
        _: u64,
        version: NegotiatedVersion<G>,
        _: &Registers,
    ) -> Result<Reply, CallError> {
        let Version { major, minor } = version.version();
        Ok(Reply::Values(major, minor))
    }
}

type Handler<'a> = Strand<'a, (Server<Two>, Server<One>), NoConsole>;

/// The specification's status numbers.
const EOK: u64 = 0;
const EINVAL: u64 = 6;
const EBADTRAP: u64 = 7;
const ENOTSUPPORTED: u64 = 13;

/// The groups that the hypervisor has: SUN4V, CORE and the two services' groups. Each entry lists the group's major numbers, and the highest
/// minor number of each.
const GROUPS: [(u64, &[(u64, u64)]); 4] =
    [(0, &[(1, 0)]), (1, &[(1, 0)]), (0x300, &[(1, 1), (2, 2)]), (0x301, &[(1, 0)])];

/// A guest's step: it requests a version, or its state is reset.
#[derive(Clone, Copy, Debug)]
enum Step {
    Request(u64, u64, u64),
    Reset,
}

/// The versions of `GROUPS` that a guest has negotiated; 0.0 for none.
type Model = [(u64, u64); 4];

/// Returns the expected status and the expected %o1, which does not change after an error.
fn request(model: &mut Model, group: u64, major: u64, minor: u64) -> (u64, u64) {
    let Some(at) = GROUPS.iter().position(|(number, _)| *number == group) else {
        return (EINVAL, major);
    };
    // A request with major number 0 releases a group, but group SUN4V cannot be released.
    if major == 0 && group != 0 {
        model[at] = (0, 0);
        return (EOK, 0);
    }
    match GROUPS[at].1.iter().find(|(known, _)| *known == major) {
        Some((_, highest)) => {
            model[at] = (major, minor.min(*highest));
            (EOK, model[at].1)
        }
        None => (ENOTSUPPORTED, major),
    }
}

fn core(strand: &Handler<'_>, function: u64, arguments: [u64; 3]) -> [u64; 3] {
    let [o0, o1, o2] = arguments;
    let mut registers = Registers::call(function, [o0, o1, o2, 13, 14]);
    assert_eq!(strand.core_trap(&mut registers), TrapOutcome::Resume);
    let [o0, o1, o2, others @ ..] = registers.to_array();
    assert_eq!(others, [13, 14, function]);
    [o0, o1, o2]
}

/// Asserts that `api_get_version` returns the versions in `model`, and that each service's function returns its version, or
/// EBADTRAP if its group is not negotiated.
fn check(strand: &Handler<'_>, model: &Model, steps: &[Step]) {
    for ((group, _), (major, minor)) in GROUPS.iter().zip(model) {
        let version = core(strand, 3, [*group, 11, 12]);
        assert_eq!(version, [EOK, *major, *minor], "version of {group:#x} after {steps:x?}");
        if *group >= 0x300 {
            let mut registers = Registers::call(*group, [10, 11, 12, 13, 14]);
            strand.fast_trap(&mut registers);
            let [o0, o1, o2, ..] = registers.to_array();
            let expected = match major {
                0 => [EBADTRAP, 11, 12],
                _ => [EOK, *major, *minor],
            };
            assert_eq!([o0, o1, o2], expected, "function {group:#x} after {steps:x?}");
        }
    }
}

const fn caller(guest: usize, strand: usize) -> Caller {
    match (GuestId::new(guest), StrandId::new(strand)) {
        (Some(guest), Some(strand)) => Caller { guest, strand },
        _ => panic!("there are such a guest and such a strand"),
    }
}

/// Performs all sequences of `length` steps, which two strands of a guest take in turn. Compares the answer to each request with the model,
/// and after the last step also the negotiated versions and the results of calls. Returns the number of sequences.
fn all_sequences(choices: &[Step], length: u32) -> usize {
    let services = || (Server::<Two>(Default::default()), Server::<One>(Default::default()));
    let hypervisor = Hypervisor::new(services(), NoConsole);
    let strands = [0, 1].map(|strand| hypervisor.strand(caller(0, strand)).unwrap());
    let neighbour = hypervisor.strand(caller(1, 2)).unwrap();
    let sequences = choices.len().pow(length);
    for sequence in 0..sequences {
        let mut rest = sequence;
        let mut steps = [Step::Reset; 4];
        for step in &mut steps[..length as usize] {
            *step = choices[rest % choices.len()];
            rest /= choices.len();
        }
        let steps = &steps[..length as usize];
        hypervisor.reset_guest(caller(0, 0).guest, caller(0, 0).strand);
        let mut model = Model::default();
        for (step, strand) in steps.iter().zip(strands.iter().cycle()) {
            match *step {
                Step::Request(group, major, minor) => {
                    let (status, o1) = request(&mut model, group, major, minor);
                    let answer = core(strand, 0, [group, major, minor]);
                    assert_eq!(answer, [status, o1, minor], "{steps:x?}");
                }
                Step::Reset => {
                    hypervisor.reset_guest(strand.caller().guest, strand.caller().strand);
                    model = Model::default();
                }
            }
        }
        check(&strands[sequence % 2], &model, steps);
    }
    check(&neighbour, &Model::default(), &[]);
    sequences
}

fn requests(groups: &[u64], majors: &[u64], minors: &[u64]) -> Vec<Step> {
    let mut steps = vec![Step::Reset];
    for group in groups {
        for major in majors {
            steps.extend(minors.iter().map(|minor| Step::Request(*group, *major, *minor)));
        }
    }
    steps
}

/// Tests all 3,465,904 sequences of up to three steps. A step is a reset or one of 150 requests. The requests are for the four groups that
/// exist and two groups that do not, with five major numbers (0, 1, 2, 3 and the largest) and five minor numbers (0, 1, 2, 3 and the
/// largest).
#[test]
#[cfg_attr(
    target_arch = "sparc64",
    ignore = "takes minutes on an emulated processor, and its result does not depend on the processor"
)]
fn every_three_requests_of_every_group() {
    let groups = [0, 1, 0x300, 0x301, 0x302, 1 << 32 | 0x300];
    let values = [0, 1, 2, 3, u64::MAX];
    let steps = requests(&groups, &values, &values);
    let sequences: usize = (0..=3).map(|length| all_sequences(&steps, length)).sum();
    assert_eq!(sequences, 3_465_904);
}

/// Tests all 551,881 sequences of up to four steps. A step is a reset or one of 26 requests. 25 requests are for a group with versions
/// 1.0, 1.1, 2.0, 2.1 and 2.2, with five major numbers (0, 1, 2, 3 and 2^32 + 1) and five minor numbers (0, 1, 2, 3 and the largest).
/// One request is for a group that does not exist.
#[test]
fn every_four_requests_of_a_group() {
    let mut steps = requests(&[0x300], &[0, 1, 2, 3, 1 << 32 | 1], &[0, 1, 2, 3, u64::MAX]);
    steps.push(Step::Request(0x302, 1, 0));
    let sequences: usize = (0..=4).map(|length| all_sequences(&steps, length)).sum();
    assert_eq!(sequences, 551_881);
}
