use serde_json::{Value, json};

use crate::program::vfalls;

fn registers(arguments: &[&str]) -> Vec<Value> {
    let stdout = vfalls(&[&["regs", "--format", "json"], arguments].concat()).assert_success();
    serde_json::from_str(&stdout).unwrap()
}

#[test]
fn json_is_a_list_of_objects() {
    let registers = registers(&[]);
    assert_eq!(registers.len(), 90);
    for (id, register) in registers.iter().enumerate() {
        let object = register.as_object().unwrap();
        let mut keys: Vec<&str> = object.keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["global", "id", "kind", "local", "name", "supported", "write_mask"]);
        assert_eq!(object["id"], json!(id));
        assert_eq!(object["supported"], json!(true));
    }
    // The registers are from FWARC/2007/529 section 3.1.
    for (id, name, local, global, write_mask) in [
        (0, "SPARC_PCR", json!(null), json!(null), None),
        (1, "L2_PERF_CONFIG", json!(null), json!(null), Some("0x3")),
        (2, "NODE0_MCU0_PCR", json!("0x8400000400"), json!("0xd000000400"), Some("0xff")),
        (
            17,
            "NODE3_MCU1_PIC",
            json!("0x8400001408"),
            json!("0xdc00001408"),
            Some("0xffffffffffffffff"),
        ),
        (36, "ZAM1_LPU_A_PCR", json!("0x8130001000"), json!("0xe530005000"), Some("0xffff")),
        (
            62,
            "ZAM2_LPU_C_PIC1",
            json!("0x8130005010"),
            json!("0xe930016010"),
            Some("0xffffffffffffffff"),
        ),
        (87, "ZAM3_ASU_PCR", json!("0x813000b000"), json!("0xed3002f000"), Some("0xf0f")),
    ] {
        let register = &registers[id];
        assert_eq!(register["name"], name);
        assert_eq!((&register["local"], &register["global"]), (&local, &global), "{name}");
        if let Some(write_mask) = write_mask {
            assert_eq!(register["write_mask"], write_mask, "{name}");
        }
    }
}

#[test]
fn a_machine_has_some_of_them() {
    let supported = |arguments: &[&str]| -> Vec<u64> {
        let registers = registers(arguments);
        assert_eq!(registers.len(), 90);
        let supported = registers.iter().filter(|register| register["supported"] == true);
        supported.map(|register| register["id"].as_u64().unwrap()).collect()
    };
    assert_eq!(supported(&["--machine", "maramba"]), (0..10).collect::<Vec<_>>());
    assert_eq!(supported(&["--machine", "Maramba", "--nodes", "1"]), (0..6).collect::<Vec<_>>());
    assert_eq!(
        supported(&["--machine", "batoka", "--nodes", "2"]),
        (0..10).chain(18..90).collect::<Vec<_>>()
    );
}

#[test]
fn csv_and_table_show_the_same() {
    let csv = vfalls(&["regs", "--format", "csv"]).assert_success();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 91);
    assert_eq!(lines[0], "id,name,kind,local,global,write_mask,supported");
    assert_eq!(lines[3], "2,NODE0_MCU0_PCR,dram-pcr,0x8400000400,0xd000000400,0xff,true");
    assert!(lines[2].starts_with("1,L2_PERF_CONFIG,") && lines[2].ends_with(",,,0x3,true"));

    let table = vfalls(&["regs"]).assert_success();
    assert_eq!(table.lines().count(), 91);
    assert!(table.lines().skip(1).all(|line| line.ends_with("yes")));
    assert_eq!(vfalls(&["regs", "zam3_asu_pic1", "SPARC_PCR"]).assert_success().lines().count(), 3);
}

#[test]
fn registers_by_name_or_number() {
    let ids = |names: &[&str]| -> Vec<Value> {
        let list = registers(names);
        list.iter().map(|register| register["id"].clone()).collect()
    };
    assert_eq!(ids(&["62", "l2_perf_config", "0"]), [0, 1, 62]);
    vfalls(&["regs", "90"]).assert_failure("there is no register '90'");
}
