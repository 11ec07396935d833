//! Code that needs more register windows than the slow path has.
#![allow(unsafe_code)]

/// The size in bytes of `sun4v_with_all_windows`'s stack frame: an ordinary frame, four window registers, and seven windows.
#[doc(hidden)]
pub const FRAME_WITH_WINDOWS: usize = 176 + 4 * 8 + 7 * 128;

/// Calls a function that can nest calls to any depth. (Other code on the slow path cannot, because it has only [`WINDOWS`](super::WINDOWS)
/// register windows.) Saves all windows of the guest and of the caller's callers on the stack, and restores them afterwards. This takes
/// about 300 instructions.
pub fn with_all_windows(function: impl FnOnce()) {
    unsafe extern "C" {
        fn sun4v_with_all_windows(function: unsafe extern "C" fn(*mut ()), argument: *mut ());
    }
    let mut function = Some(function);
    // SAFETY: this code belongs to an image. `call` gets a pointer to a value of the type that it expects, which outlives the call.
    unsafe { sun4v_with_all_windows(call_of(&function), (&raw mut function).cast()) };
}

const fn call_of<F: FnOnce()>(_: &Option<F>) -> unsafe extern "C" fn(*mut ()) {
    unsafe extern "C" fn call<F: FnOnce()>(function: *mut ()) {
        // SAFETY: `with_all_windows` passes a pointer to this type, and uses the value only after this call.
        let function = unsafe { (*function.cast::<Option<F>>()).take() };
        if let Some(function) = function {
            function();
        }
    }
    call::<F>
}

#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_windows {
    () => {
        $crate::sun4v_asm!(
            ["
            .section .text.traps.windows, \"ax\"
            .globl sun4v_with_all_windows
    sun4v_with_all_windows:                     ! calls %o0 with %o1 in %o0
            sub %sp, {FRAME}, %sp
            add %sp, {BIAS} + 176, %g1
            rdpr %cansave, %g4
            stx %g4, [%g1]
            rdpr %canrestore, %g4
            stx %g4, [%g1 + 8]
            rdpr %otherwin, %g4
            stx %g4, [%g1 + 16]
            rdpr %cleanwin, %g4
            stx %g4, [%g1 + 24]
            rdpr %cwp, %g5
            add %g5, 1, %g4
    1:      and %g4, {NWINDOWS} - 1, %g4
            wrpr %g4, 0, %cwp
            cmp %g4, %g5
            be,pn %xcc, 2f
             inc %g4
            .irp n, 0, 1, 2, 3, 4, 5, 6, 7
            stx %l\\n, [%g1 + 32 + 8 * \\n]
            stx %i\\n, [%g1 + 96 + 8 * \\n]
            .endr
            ba,pt %xcc, 1b
             add %g1, 128, %g1
    2:      wrpr %g0, {NWINDOWS} - 2, %cansave
            wrpr %g0, 0, %canrestore
            wrpr %g0, 0, %otherwin
            wrpr %g0, {NWINDOWS} - 1, %cleanwin
            mov %o0, %g1
            jmpl %g1, %o7
             mov %o1, %o0
            rdpr %tl, %g1                       ! a spill at level 2 leaves the hypervisor's registers there
            cmp %g1, 1
            bne,pt %xcc, 3f
             add %sp, {BIAS} + 176, %g1
            wrpr %g0, 2, %tl
            ", $crate::sun4v_clear_level!(), "
            wrpr %g0, 1, %tl
    3:      rdpr %cwp, %g5
            add %g5, 1, %g4
    4:      and %g4, {NWINDOWS} - 1, %g4
            wrpr %g4, 0, %cwp
            cmp %g4, %g5
            be,pn %xcc, 5f
             inc %g4
            .irp n, 0, 1, 2, 3, 4, 5, 6, 7
            ldx [%g1 + 32 + 8 * \\n], %l\\n
            ldx [%g1 + 96 + 8 * \\n], %i\\n
            .endr
            ba,pt %xcc, 4b
             add %g1, 128, %g1
    5:      add %sp, {BIAS} + 176, %g1
            ldx [%g1], %g4
            wrpr %g4, 0, %cansave
            ldx [%g1 + 8], %g4
            wrpr %g4, 0, %canrestore
            ldx [%g1 + 16], %g4
            wrpr %g4, 0, %otherwin
            ldx [%g1 + 24], %g4
            wrpr %g4, 0, %cleanwin
            retl
             add %sp, {FRAME}, %sp
            "],
            [NWINDOWS BIAS CLEAR_HTSTATE],
            { FRAME = const $crate::sparc64::FRAME_WITH_WINDOWS }
        );
    };
}
