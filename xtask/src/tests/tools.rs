use std::env;
use std::fs;

use super::*;

const TOOL: Tool = Tool::new("tool", "package");
const SECOND: Tool = Tool::new("second", "other");

/// Returns a host whose only programs are in a new directory.
fn host(name: &str, root: bool) -> (Installer, PathBuf) {
    let directory = env::temp_dir().join(format!("xtask-tools-{}-{name}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let host = Installer {
        host: Host { path: directory.clone().into(), root },
        lock: directory.join("lock"),
        pause: Duration::from_millis(10),
        patience: Duration::from_secs(60),
    };
    (host, directory)
}

/// Writes a script from another process. If this process opened the file, a child that another test
/// starts meanwhile would inherit the open file, and a file that is open for writing cannot be
/// executed.
pub(crate) fn program(path: &Path, text: &str) {
    let write = r#"printf '#!/bin/sh\n%s\n' "$2" > "$1" && chmod 755 "$1""#;
    let status = Command::new("sh").args(["-c", write, "sh"]).arg(path).arg(text).status();
    assert!(status.unwrap().success());
}

/// Creates an apt-get that logs its calls, and then executes `before`. After an update, a call that
/// installs `package` and `other` creates the files `tool` and `second`.
fn apt_get(place: &Path, before: &str) {
    let script = format!(
        "cd {place}\necho \"$*\" >> log\n{before}\ncase \"$*\" in\n\
         *\" update\") echo > updated;;\n\
         *\" install --yes --no-install-recommends package other\") [ -e updated ] && for tool in tool second; do \
         echo '#!/bin/sh' > $tool; /bin/chmod +x $tool; done;;\nesac",
        place = place.display()
    );
    program(&place.join("apt-get"), &script);
}

/// Returns the subcommands of all calls of apt-get.
fn log(place: &Path) -> Vec<String> {
    let log = fs::read_to_string(place.join("log")).unwrap();
    let command = |line: &str| line.split(' ').nth(3).map(str::to_owned);
    log.lines().filter_map(command).collect()
}

#[test]
fn finds_what_can_be_run() {
    let (host, place) = host("find", false);
    program(&place.join("tool"), "exit 0");
    fs::write(place.join("text"), "").unwrap();
    fs::create_dir_all(place.join("folder")).unwrap();
    assert_eq!(host.host.find("tool".as_ref()), Some(place.join("tool")));
    assert_eq!(host.host.find(place.join("tool").as_ref()), Some(place.join("tool")));
    assert_eq!(
        ["text", "folder", "none"].map(|name| host.host.find(name.as_ref())),
        [None, None, None]
    );
    host.require(&[TOOL]).unwrap();
    // A tool whose name has a slash can be any file.
    let file = |name: &str| Tool::new(name.to_owned().leak(), "package");
    let text = place.join("text");
    assert_eq!(host.host.locate(&file(text.to_str().unwrap())), Some(text));
    let beside = place.join("folder/../text");
    let bin = Host { path: place.join("folder").into(), ..host.host };
    assert_eq!(bin.locate(&file("../text")), Some(beside));
    assert_eq!(bin.locate(&file("../none")), None);
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_missing_tool_is_named() {
    let error = Tool::new("nothing", "no-package").find().unwrap_err();
    assert_eq!(
        error.to_string(),
        "nothing is not installed; type: apt-get install --no-install-recommends no-package"
    );
}

#[test]
fn all_that_is_missing_is_installed_in_one_go() {
    let (host, place) = host("install", true);
    apt_get(&place, "");
    host.require(&[TOOL, SECOND]).unwrap();
    assert_eq!(host.host.locate(&TOOL), Some(place.join("tool")));
    assert_eq!(log(&place), ["update", "install"]);
    host.require(&[TOOL, SECOND]).unwrap();
    assert_eq!(log(&place).len(), 2);
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn locks_of_apt_are_waited_for() {
    let (mut host, place) = host("locks", true);
    let locked = "\necho 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)' >&2\nexit 100";
    let in_turn = format!(
        "if [ ! -e 1 ]; then echo > 1{locked}; fi\n[ -e 2 ] || {{ echo > 2{locked}; }}\n\
         case \"$*\" in *\" update\") ;; *) [ -e 3 ] || {{ echo > 3{locked}; }};; esac"
    );
    apt_get(&place, &in_turn);
    host.require(&[TOOL, SECOND]).unwrap();
    assert_eq!(log(&place), ["update", "update", "update", "install", "install"]);

    // The installer gives up after its time limit.
    fs::remove_file(place.join("tool")).unwrap();
    apt_get(&place, locked);
    host.patience = Duration::from_millis(100);
    let error = format!("{:#}", host.require(&[TOOL]).unwrap_err());
    assert!(error.ends_with("apt-get update failed with exit status: 100"), "{error}");
    // The installer does not retry after any other failure.
    host.patience = Duration::from_secs(600);
    apt_get(&place, "echo 'E: Unable to fetch some archives' >&2\nexit 100");
    assert!(host.require(&[TOOL]).is_err());
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn two_at_once_install_once() {
    let (first, place) = host("two", true);
    let (second, _) = host("two", true);
    // This apt-get fails if another one runs at the same time.
    apt_get(&place, "/bin/mkdir at-work || exit 1\n/bin/sleep 0.2\n/bin/rmdir at-work");
    // The lock belongs to the open file, so two threads conflict just as two processes do.
    thread::scope(|scope| {
        for host in [first, second] {
            scope.spawn(move || host.require(&[TOOL, SECOND]).unwrap());
        }
    });
    assert_eq!(log(&place), ["update", "install"]);
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn says_what_to_type() {
    let (mut host, place) = host("advice", false);
    let message =
        |host: &Installer| format!("{:#}", host.require(&[TOOL, SECOND, TOOL]).unwrap_err());
    assert_eq!(
        message(&host),
        "tool, second, tool are not installed; install these packages of your system: package other"
    );
    program(&place.join("dnf"), "exit 1");
    assert_eq!(
        message(&host),
        "tool, second, tool are not installed; type: sudo dnf install package other"
    );
    program(&place.join("second"), "exit 1");
    program(&place.join("apt-get"), "exit 1");
    let message = |host: &Installer| format!("{:#}", host.require(&[TOOL, SECOND]).unwrap_err());
    assert_eq!(
        message(&host),
        "tool is not installed; type: sudo apt-get install --no-install-recommends package"
    );
    host.host.root = true;
    let failed = message(&host);
    assert!(
        failed.starts_with(
            "tool is not installed; type: apt-get install --no-install-recommends package: "
        ),
        "{failed}"
    );
    assert!(failed.ends_with("apt-get update failed with exit status: 1"), "{failed}");
    program(&place.join("apt-get"), "exit 0");
    assert_eq!(message(&host), "tool is not installed after the installation of package");
    fs::remove_dir_all(place).unwrap();
}
