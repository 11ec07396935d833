#!/bin/sh
# RUSTC_WRAPPER for images. Cargo gives each crate a hash of the folder that it is in, which becomes a part of all its symbols and
# decides in which order functions are linked. Names and versions take its place, so that an image is the same in any folder.
rustc=$1
shift
for argument do
    shift
    case $argument in
        metadata=*) argument=metadata=$CARGO_PKG_NAME-$CARGO_PKG_VERSION ;;
    esac
    set -- "$@" "$argument"
done
exec "$rustc" "$@"
