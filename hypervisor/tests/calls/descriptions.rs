//! The machine description that each guest gets.

use platform::md::{Md, Value};

use crate::fake::{BASE, SIZE, machine};

/// If the buffer is too small, the status is EINVAL and %o1 is the size, whatever the address is.
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
        "mblock: base 2147483648, size 65536, back -> memory 0".to_owned(),
        "cpus: fwd -> cpu 0, fwd -> cpu 1, fwd -> cpu 2, back -> root 0".to_owned(),
        cpu(0, 0),
        cpu(1, 5),
        cpu(2, 64),
    ]);
    // The header says version 1.0. There are 58 elements, 150 bytes of names (each name once), and three data items of
    // 16 + 8 + 32 bytes. Each block's size is a multiple of 16 bytes.
    let header: Vec<u32> =
        bytes[..16].chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect();
    assert_eq!(header, [0x0001_0000, 58 * 16, 160, 64]);
    assert_eq!(md.platform().unwrap().unwrap().stick_frequency, Some(1_400_000_000));
}
