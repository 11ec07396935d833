use crate::program::TestDirectory;
use crate::stat::program;

#[test]
fn one_line_each() {
    let place = TestDirectory::new("stat-bad");
    place.file("refs.txt", program(10));
    place.file("broken.txt", "I  04001090,3\n L zzz,8\n");
    let guest = |name, strands, grant| {
        format!("[[guest]]\nname = \"{name}\"\nstrands = \"{strands}\"\ngrant = \"{grant}\"\n")
    };
    let two_globals = guest("a", "0", "global") + &guest("b", "1", "global");
    place.file("globals.toml", two_globals);
    place.file("grant.toml", guest("a", "0", "root"));
    place.file("strands.toml", guest("a", "0-7", "none"));
    place.file("machine.toml", "[machine]\nnodes = 2\n");
    place.file("short.toml", "[l2]\nline = 32\n");
    place.file("ways.toml", "[l2]\nways = 32\n");
    for (arguments, says) in [
        ("refs.txt --config ways.toml", "ways.toml:2: l2.ways is 32, expected 1 to 16"),
        (
            "refs.txt --config short.toml --json r.json --details",
            "l2.line is 32, expected 64 for details",
        ),
        (
            "refs.txt --config machine.toml --nodes 1",
            "machine.toml: has a [machine] table, so --nodes is not allowed",
        ),
        ("refs.txt --machine t5440", "there is no machine 't5440'; did you mean"),
        ("refs.txt --nodes 5", "a batoka has 1 to 4 nodes, not 5"),
        (
            "refs.txt -e dram:mem_raeds",
            "there is no dram event 'mem_raeds'; did you mean mem_reads?",
        ),
        ("refs.txt --machine maramba -e lpu:none", "a maramba has no hubs"),
        ("refs.txt --place 0,256", "found '256', expected strands 0 to 255"),
        (
            "refs.txt --place sprad",
            "found 'sprad', expected spread, pack, one-per-core, strands such as 0,8,64-71, or deal:STRANDS",
        ),
        ("refs.txt -- true", "cannot be used with"),
        ("-- ./nothing", "there is no program './nothing'"),
        (
            "refs.txt --nodes 2 --place 128",
            "there is no strand 128; this machine has strands 0 to 127",
        ),
        (
            "refs.txt refs.txt --place 0,255",
            "belong to two guests: 0 to measuring, 255 to other; expected strands of one",
        ),
        ("/nowhere/refs", "/nowhere/refs"),
        ("broken.txt", "broken.txt:2: found"),
        ("- -", "standard input is named 2 times, expected at most once"),
        ("refs.txt --interval 0", "0"),
        ("refs.txt --guests globals.toml", "guests 0 and 1 both have global"),
        ("refs.txt --guests grant.toml", "grant.toml:4: found 'root', expected none, strand"),
        ("refs.txt --guests strands.toml --place 9", "strand 9 belongs to no guest"),
        ("refs.txt --json /nowhere/results.json", "/nowhere/results.json"),
    ] {
        let json = if arguments.contains("--json") { "" } else { "--json results.json " };
        place.run(&format!("stat {json}{arguments}")).assert_failure(says);
        let left = place.path().join("results.json").exists();
        assert!(!left, "{arguments} leaves a file");
    }
}
