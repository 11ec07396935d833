#!/bin/sh
# RUSTC_WRAPPER for images. Cargo passes a hash that depends on a crate's folder. The hash becomes a part of the crate's symbols, and
# decides the link order of functions. This wrapper passes name and version instead, so that an image is the same in any folder.
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
