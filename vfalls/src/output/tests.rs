use tempfile::tempdir;

use super::*;

fn names(path: impl AsRef<Path>) -> Vec<OsString> {
    fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

#[test]
fn is_there_only_when_complete() {
    let place = tempdir().unwrap();
    let path = place.path().join("result");
    fs::write(&path, "old").unwrap();
    let mut file = OutputFile::create(&path, true).unwrap();
    file.write_all(b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    file.complete().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(names(&place), ["result"]);
}

#[test]
fn leaves_nothing_when_dropped() {
    let place = tempdir().unwrap();
    let mut file = OutputFile::create(place.path().join("result"), false).unwrap();
    file.write_all(b"half").unwrap();
    assert_eq!(names(&place).len(), 1);
    drop(file);
    assert!(names(&place).is_empty());
}

#[test]
fn directories_are_there_only_when_complete() {
    let place = tempdir().unwrap();
    let path = place.path().join("result");
    let refuse = |_: &Path| Err(anyhow::anyhow!("it is needed"));
    // The first output creates the directory. The directory is emptied before the second output,
    // which may therefore replace it.
    for name in ["new", "again"] {
        if name == "again" {
            fs::remove_file(path.join("new")).unwrap();
        }
        let made = OutputDirectory::create(&path, refuse).unwrap();
        made.write(name, b"").unwrap();
        made.complete().unwrap();
        assert_eq!(names(&path), [name]);
    }
    let refused = OutputDirectory::create(&path, refuse).err().unwrap();
    assert_eq!(refused.to_string(), "it is needed");
    let made = OutputDirectory::create(&path, |_| Ok(())).unwrap();
    made.write("other", b"").unwrap();
    assert_eq!(names(&path), ["again"]);
    made.complete().unwrap();
    assert_eq!((names(&path), names(&place)), (vec!["other".into()], vec!["result".into()]));
    // A dropped output leaves no files behind.
    let made = OutputDirectory::create(&path, |_| Ok(())).unwrap();
    made.write("half", b"").unwrap();
    assert_eq!(names(&place).len(), 2);
    drop(made);
    assert_eq!((names(&path), names(&place)), (vec!["other".into()], vec!["result".into()]));
    // The first path is below a file. The second is in a directory that does not exist.
    assert!(OutputDirectory::create(path.join("other"), refuse).is_err());
    assert!(OutputDirectory::create(place.path().join("none/result"), refuse).is_err());
}

#[test]
fn refuses_what_is_no_ordinary_file() {
    let place = tempdir().unwrap();
    for path in [
        place.path(),
        Path::new("/dev/null"),
        &place.path().join("none/result"),
        &place.path().join(".."),
    ] {
        assert!(OutputFile::create(path, true).is_err(), "{}", path.display());
    }
    assert!(names(&place).is_empty());
}

/// A file with the output's name already exists when the output starts, or is created before the output is complete.
#[test]
fn files_that_are_in_the_way_stay() {
    let place = tempdir().unwrap();
    let path = place.path().join("result");
    fs::write(&path, "old").unwrap();
    let error = OutputFile::create(&path, false).err().unwrap();
    assert_eq!(error.to_string(), format!("{}: already exists", path.display()));
    fs::remove_file(&path).unwrap();
    let file = OutputFile::create(&path, false).unwrap();
    fs::write(&path, "other").unwrap();
    assert_eq!(
        file.complete().unwrap_err().to_string(),
        format!(
            "{}: was created in the meantime and is not replaced; nothing was written",
            path.display()
        )
    );
    // A symbolic link with the output's name also blocks the output, even if its target does not
    // exist.
    fs::remove_file(&path).unwrap();
    let file = OutputFile::create(&path, false).unwrap();
    std::os::unix::fs::symlink("nowhere", &path).unwrap();
    assert!(file.complete().is_err());
    for replaces in [false, true] {
        let error = OutputFile::create(&path, replaces).err().unwrap();
        assert!(error.to_string().ends_with("is not a regular file"));
    }
    assert_eq!(fs::read_link(&path).unwrap(), Path::new("nowhere"));
    assert_eq!(names(&place), ["result"]);
}

/// Tests the renaming for file systems that cannot refuse to replace a file.
#[test]
fn a_name_is_taken_only_if_it_is_free() {
    let place = tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| place.path().join(name));
    fs::write(&from, "new").unwrap();
    rename_to_claimed(&from, &to).unwrap();
    assert_eq!((fs::read(&to).unwrap(), from.exists()), (b"new".to_vec(), false));
    fs::write(&from, "newer").unwrap();
    let error = rename_to_claimed(&from, &to).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read(&to).unwrap(), b"new");
}

/// The renaming fails because the temporary file has been removed. The claimed name must become free again.
#[test]
fn a_name_is_free_again_if_nothing_gets_it() {
    let place = tempdir().unwrap();
    let file = OutputFile::create(place.path().join("result"), false).unwrap();
    fs::remove_file(place.path().join(&names(&place)[0])).unwrap();
    let error = file.complete().unwrap_err().to_string();
    assert!(error.ends_with("result: cannot be written"), "{error}");
    assert!(names(&place).is_empty());
}

#[test]
fn two_outputs_cannot_have_one_name() {
    let place = tempdir().unwrap();
    let path = place.path().join("result");
    let _file = OutputFile::create(&path, true).unwrap();
    let error = OutputFile::create(&path, true).err().unwrap();
    let expected = format!("{}: is named for two outputs", path.display());
    assert_eq!(error.to_string(), expected);
}

/// A file that another program adds to the directory stays. At the start, the directory did not
/// exist, was empty, or had files that may be replaced.
#[test]
fn files_that_come_into_a_directory_stay() {
    let place = tempdir().unwrap();
    let path = place.path().join("result");
    for there in [None, Some(&[][..]), Some(&["old"])] {
        for name in there.into_iter().flatten() {
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join(name), "").unwrap();
        }
        if there.is_some() {
            fs::create_dir_all(&path).unwrap();
        }
        let made = OutputDirectory::create(&path, |_| Ok(())).unwrap();
        made.write("new", b"").unwrap();
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("letter"), "mine").unwrap();
        let expected = format!(
            "{}: was created in the meantime and is not replaced; nothing was written",
            path.join("letter").display()
        );
        assert_eq!(made.complete().unwrap_err().to_string(), expected);
        assert_eq!(fs::read(path.join("letter")).unwrap(), b"mine");
        assert_eq!(names(&path).len(), 1 + there.unwrap_or_default().len());
        assert_eq!(names(&place), ["result"]);
        fs::remove_dir_all(&path).unwrap();
    }
    // An empty directory that another program creates stays, too.
    let made = OutputDirectory::create(&path, |_| Ok(())).unwrap();
    made.write("new", b"").unwrap();
    fs::create_dir(&path).unwrap();
    let error = made.complete().unwrap_err().to_string();
    assert!(error.contains("result: was created in the meantime"), "{error}");
    assert!(names(&path).is_empty());
    fs::remove_dir(&path).unwrap();
    // A file that another program adds to the temporary directory stays there.
    let made = OutputDirectory::create(&path, |_| Ok(())).unwrap();
    made.write("new", b"").unwrap();
    let hidden = place.path().join(&names(&place)[0]);
    fs::write(hidden.join("letter"), "mine").unwrap();
    drop(made);
    assert_eq!(names(&hidden), ["letter"]);
}

/// Another program replaces the directory with a file, or with a link to another directory that
/// contains a file of the same name.
#[test]
fn what_comes_in_place_of_a_directory_stays() {
    let place = tempdir().unwrap();
    let [path, other] = ["result", "other"].map(|name| place.path().join(name));
    fs::create_dir(&other).unwrap();
    fs::write(other.join("old"), "mine").unwrap();
    let comes: [fn(&Path); 2] = [
        |path| fs::write(path, "mine").unwrap(),
        |path| std::os::unix::fs::symlink("other", path).unwrap(),
    ];
    for come in comes {
        fs::create_dir(&path).unwrap();
        fs::write(path.join("old"), "").unwrap();
        let made = OutputDirectory::create(&path, |_| Ok(())).unwrap();
        made.write("new", b"").unwrap();
        fs::remove_dir_all(&path).unwrap();
        come(&path);
        let error = made.complete().unwrap_err().to_string();
        assert!(error.contains("result: was created in the meantime"), "{error}");
        assert!(!path.join("new").exists());
        fs::remove_file(&path).unwrap();
        assert_eq!(fs::read(other.join("old")).unwrap(), b"mine");
        assert_eq!(names(&place), ["other"]);
    }
}

/// A directory that contains another directory is not replaced, because this program never writes such a directory.
#[test]
fn directories_within_a_directory_stay() {
    let place = tempdir().unwrap();
    fs::create_dir(place.path().join("photos")).unwrap();
    let error = OutputDirectory::create(place.path(), |_| Ok(())).err().unwrap();
    assert!(error.to_string().ends_with("photos: is a directory, and is not replaced"));
    assert_eq!(names(&place), ["photos"]);
}
