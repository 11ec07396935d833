//! Tests the machine description that each guest gets.

use guest_abi::StrandId;
use platform::md::{Md, Node, Value};
use platform::{Homes, Interleave, Machine, Model};

use crate::fake::{BASE, PHYSICAL, SIZE, machine};

/// If the buffer is too small, the status is EINVAL and %o1 is the needed size, whatever the address is.
#[test]
fn descriptions() {
    let fake = machine();
    let (status, size) = fake.ask(1, [0, 0, 0]);
    let size = size.expect("the size");
    assert_eq!((status, size % 16), (6, 0));
    assert_eq!(fake.ask(1, [3, size - 1, 0]), (6, Some(size)));
    for (status, real) in
        [(8, BASE + 8), (2, BASE - 16), (2, BASE + SIZE - 16), (2, 0), (2, 1 << 63)]
    {
        assert_eq!(fake.ask(1, [real, size, 0]), (status, None), "{real:#x}");
    }
    assert!(fake.0.memory[0].borrow().iter().all(|word| *word == u64::MAX));
    assert_eq!(fake.ask(1, [BASE + 16, size + 100, 0]), (0, Some(size)));
    let memory = fake.0.memory[0].borrow();
    let (before, memory) = memory.split_at(2);
    let (words, behind) = memory.split_at(size as usize / 8);
    assert!(before.iter().chain(behind).all(|word| *word == u64::MAX));
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();

    let md = Md::new(&bytes).expect("it is a description");
    let text: Vec<String> = md
        .nodes()
        .map(|node| {
            let properties = node.properties().map(|property| {
                let value = match property.value() {
                    Value::Arc(node) => {
                        format!("-> {} {}", node.name(), node.number("id").unwrap().unwrap_or(0))
                    }
                    Value::Number(number) => number.to_string(),
                    Value::String(string) => format!("'{string}'"),
                    Value::Data(data) => format!("{:?}", String::from_utf8_lossy(data)),
                };
                format!("{} {value}", property.name())
            });
            format!("{}: {}", node.name(), properties.collect::<Vec<_>>().join(", "))
        })
        .collect();
    let cpu = |id, pid| {
        format!(
            "cpu: id {id}, pid {pid}, clock-frequency 1400000000, compatible \"SUNW,UltraSPARC-T2+\\0SUNW,sun4v\\0\", \
         nwins 8, maxtl 2, maxgl 2, back -> cpus 0"
        )
    };
    assert_eq!(text, [
        "root: fwd -> platform 0, fwd -> memory 0, fwd -> cpus 0".to_owned(),
        "platform: name 'SUNW,T5440', banner-name 'T5440', stick-frequency 1400000000, max-cpus 3, back -> root 0".to_owned(),
        "memory: fwd -> mblock 0, back -> root 0".to_owned(),
        "mblock: base 2147483648, size 65536, address-congruence-offset 268435456, back -> memory 0".to_owned(),
        "cpus: fwd -> cpu 0, fwd -> cpu 1, fwd -> cpu 2, back -> root 0".to_owned(),
        cpu(0, 0),
        cpu(1, 5),
        cpu(2, 64),
    ]);
    // The header says version 1.0. There are 59 elements, 253 bytes of names (each name once), and three data items of
    // 16 + 8 + 32 bytes. Each block's size is a multiple of 16 bytes.
    let header: Vec<u32> =
        bytes[..16].chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect();
    assert_eq!(header, [0x0001_0000, 59 * 16, 256, 64]);
    assert_eq!(md.platform().unwrap().unwrap().stick_frequency, Some(1_400_000_000));
}

/// Returns the description of guest 0, whose strands 0, 5 and 64 are on nodes 0 and 1.
fn described(homes: Option<Homes>) -> Vec<u8> {
    let fake = machine();
    fake.0.homes.set(homes);
    let (status, size) = fake.ask(1, [BASE, SIZE, 0]);
    let size = size.expect("the size");
    assert_eq!(status, 0);
    let memory = fake.0.memory[0].borrow();
    memory[..size as usize / 8].iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Follows the arcs named `kind` from the node `from`. Returns the targets that are named `name`.
fn arcs<'a>(from: Node<'a>, kind: &str, name: &str) -> Vec<Node<'a>> {
    let arcs = from.properties().filter(|property| property.name() == kind);
    let targets = arcs.filter_map(|property| match property.value() {
        Value::Arc(node) => Some(node),
        _ => None,
    });
    targets.filter(|node| node.name() == name).collect()
}

fn number(node: Node<'_>, name: &str) -> u64 {
    node.number(name).unwrap().unwrap_or_else(|| panic!("{}: no {name}", node.name()))
}

/// Returns the `memory-latency-group` with the smallest latency. If several groups have this latency, returns the first of them. Linux and
/// illumos choose the same group.
fn nearest<'a>(from: Node<'a>) -> Node<'a> {
    let groups = arcs(from, "fwd", "memory-latency-group");
    groups.into_iter().min_by_key(|group| number(*group, "latency")).expect("a latency group")
}

/// Linux and illumos use the latency groups to find the node of each real address and of each CPU. They must find the nodes that
/// `Homes` states.
#[test]
fn latency_groups_are_what_the_map_says() {
    const LATENCY: &str = "memory-latency-group";
    for (nodes, stripes) in [(2, 2), (3, 4), (4, 4)] {
        let machine = Machine::new(Model::Batoka, nodes).unwrap();
        let homes = Homes::new(machine.with_interleave(Interleave::Gigabyte)).unwrap();
        let bytes = described(Some(homes));
        let md = Md::new(&bytes).expect("it is a description");
        let all: Vec<_> = md.nodes().filter(|node| node.name() == LATENCY).collect();
        assert_eq!(all.len(), 2 * stripes);
        for group in &all {
            assert_eq!(arcs(*group, "fwd", "mblock").len(), 1);
        }
        let list = md.node_named("latency-groups").unwrap();
        assert_eq!(arcs(md.root().unwrap(), "fwd", "latency-groups").len(), 1);
        let groups = arcs(list, "fwd", "group");
        assert_eq!(groups.len(), stripes);

        let mblock = md.node_named("mblock").unwrap();
        let offset = number(mblock, "address-congruence-offset");
        assert_eq!(BASE.wrapping_add(offset), PHYSICAL);
        for gigabyte in 0..8 {
            let real = BASE + (gigabyte << 30) + 0x2000;
            let physical = real.wrapping_add(offset);
            let is_in = |group: &Node<'_>| {
                physical & number(*group, "address-mask") == number(*group, "address-match")
            };
            // Linux chooses the group whose nearest memory contains the address.
            let found: Vec<_> = groups.iter().filter(|group| is_in(&nearest(**group))).collect();
            assert_eq!(found.len(), 1, "{nodes}: {real:#x}");
            let home = homes.home(physical);
            for group in arcs(*found[0], "fwd", LATENCY).iter().filter(|group| is_in(group)) {
                assert_eq!(number(*group, "latency"), 184_000);
            }
            // Exactly one of each CPU's latency groups contains the address. Its latency is short if the CPU and the memory are on one
            // node.
            let mut cpus = 0;
            for cpu in md.nodes().filter(|node| node.name() == "cpu") {
                let strand = StrandId::new(number(cpu, "pid") as usize).unwrap();
                let all = arcs(cpu, "fwd", LATENCY);
                assert_eq!(
                    number(all[0], "latency"),
                    184_000,
                    "{nodes}: memory of the own node first"
                );
                let ways: Vec<_> = all.into_iter().filter(is_in).collect();
                assert_eq!(ways.len(), 1);
                let short = if strand.node() == home { 184_000 } else { 251_000 };
                assert_eq!(number(ways[0], "latency"), short, "{nodes}: {real:#x}, {strand}");
                cpus += 1;
            }
            assert_eq!(cpus, 3);
        }
        // Linux finds the CPUs of a group through the group's `back` arcs.
        let cpus: Vec<Vec<u64>> = (groups.iter())
            .map(|group| {
                arcs(*group, "back", "cpu").into_iter().map(|cpu| number(cpu, "id")).collect()
            })
            .collect();
        assert_eq!(cpus[..2], [vec![0, 1], vec![2]]);
        assert!(cpus[2..].iter().all(Vec::is_empty));
    }
}

/// If memory interleaves by 512 bytes, or if the machine has one node, a guest cannot choose the node of a page. The description is then
/// the same as for a machine without nodes.
#[test]
fn pages_on_all_nodes_have_no_latency_groups() {
    let fine = Homes::new(Machine::new(Model::Batoka, 4).unwrap());
    let one = Machine::new(Model::Batoka, 1).unwrap().with_interleave(Interleave::Gigabyte);
    assert!(described(fine) == described(None));
    assert!(described(Homes::new(one)) == described(None));
}
