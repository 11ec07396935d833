//! The slow path: saves the guest's registers and windows, and calls Rust code on the strand's stack. Each instruction that a typical call
//! executes has a comment with its purpose. `cargo xtask qemu` uses these comments to count the instructions.

/// Answers trap 0x80 with EBADTRAP if the image does not serve the function and calls are not traced. Otherwise takes the slow path.
#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_unclaimed {
    () => {
        "
            cmp %o5, {LIMIT}                    ! function
            bgeu,pn %xcc, 2f                    ! function
             ldx [%g6 + {SERVED_FAST}], %g1     ! function
            ldub [%g1 + %o5], %g1               ! function
    1:
            ldx [%g6 + {TRACED}], %g2           ! traced
            ldub [%g2], %g2                     ! traced
            or %g1, %g2, %g1                    ! traced
            brnz,a,pn %g1, sun4v_general        ! function
             mov {FAST}, %g5                    ! function
            mov {EBADTRAP}, %o0                 ! return
            done                                ! return
    2:      ba,pt %xcc, 1b
             ldub [%g1 + {LIMIT}], %g1
        "
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! sun4v_general {
    ($handler:ty) => {
        $crate::sun4v_asm!(
            ["
            .section .text.traps.general, \"ax\"
            .globl sun4v_fast, sun4v_general
    sun4v_fast:                                 ! trap 0x80, in an image without a fast path
            ", $crate::sun4v_unclaimed!(), "

    sun4v_core:                                 ! trap 0xff; %o5 is compared, and %g1 is the set of functions
            bgeu,pn %xcc, 2f                    ! function
             stx %o5, [%g6 + {O0} + 40]         ! keep
            ldub [%g1 + %o5], %g1               ! function
    1:
            brz,pn %g1, 3f                      ! function
             stx %o4, [%g6 + {O0} + 32]         ! keep
            stx %o3, [%g6 + {O0} + 24]          ! keep
            stx %o2, [%g6 + {O0} + 16]          ! keep
            stx %o1, [%g6 + {O0} + 8]           ! keep
            stx %o0, [%g6 + {O0} + 0]           ! keep
            .globl sun4v_core_wait
    sun4v_core_wait:
            membar 0x40                         ! wait (#Sync), as below
            stx %o7, [%g6 + {O7}]               ! keep
            call {core}                         ! enter
             ldx [%g6 + {HANDLER}], %o3         ! enter
            ldx [%g6 + {O7}], %o7               ! keep
            cmp %o0, {CORE}                     ! enter
            be,pn %xcc, sun4v_kept              ! enter
             mov %o0, %g5                       ! enter
            ldx [%g6 + {O0} + 24], %o3          ! keep
            ldx [%g6 + {O0} + 32], %o4          ! keep
            ldx [%g6 + {O0} + 40], %o5          ! keep
            done                                ! return
    2:      ba,pt %xcc, 1b
             ldub [%g1 + {LIMIT}], %g1
    3:      mov {EBADTRAP}, %o0
            done

    sun4v_general:
            .irp n, 0, 1, 2, 3, 4, 5
            stx %o\\n, [%g6 + {O0} + 8 * \\n]   ! keep
            .endr
    sun4v_kept:
            stx %o6, [%g6 + {O6}]               ! keep
            stx %o7, [%g6 + {O7}]               ! keep
            rd %y, %g1                          ! keep
            stx %g1, [%g6 + {Y}]                ! keep
            rdpr %canrestore, %g1               ! windows
            stx %g1, [%g6 + {CANRESTORE}]       ! windows
            rdpr %otherwin, %g1                 ! windows
            stx %g1, [%g6 + {OTHERWIN}]         ! windows
            rdpr %cleanwin, %g1                 ! windows
            stx %g1, [%g6 + {CLEANWIN}]         ! windows
            rdpr %cansave, %g1                  ! windows
            stx %g1, [%g6 + {CANSAVE}]          ! windows
            wrpr %g0, {NWINDOWS} - 1, %cleanwin ! windows
            wrpr %g0, {FIRST}, %cansave         ! windows
            wrpr %g0, 0, %canrestore            ! windows
            cmp %g1, {FIRST}                    ! windows
            bl,pn %xcc, 1f                      ! windows
             wrpr %g0, {NWINDOWS} - 2 - {FIRST}, %otherwin ! windows

            .globl sun4v_general_wait
    sun4v_general_wait:
            membar 0x40                         ! wait (#Sync): earlier stores that fault do so before Rust is called
            ldx [%g6 + {STACK}], %sp            ! enter
            mov %g6, %o0                        ! enter
            call {trap}                         ! enter
             mov %g5, %o1                       ! enter

            ldx [%g6 + {CANSAVE}], %g5          ! windows
            cmp %g5, {FIRST}                    ! windows
            bl,pn %xcc, 2f                      ! windows
             rdpr %otherwin, %g4                ! windows
            .rept {FIRST}                       ! the guest had these windows free
            save                                ! windows
            .irp n, 0, 1, 2, 3, 4, 5, 6, 7
            clr %l\\n                           ! windows
            clr %o\\n                           ! windows
            .endr
            .endr
    5:
            .rept {FIRST}
            restore                             ! windows
            .endr
            subcc %g4, {NWINDOWS} - 2 - {FIRST}, %g4 ! windows
            bne,pn %xcc, 3f                     ! windows
             ldx [%g6 + {CANRESTORE}], %g1      ! windows
    6:
            wrpr %g5, 0, %cansave               ! windows
            wrpr %g1, 0, %canrestore            ! windows
            ldx [%g6 + {OTHERWIN}], %g1         ! windows
            wrpr %g1, 0, %otherwin              ! windows
            ldx [%g6 + {CLEANWIN}], %g1         ! windows
            wrpr %g1, 0, %cleanwin              ! windows
            ldx [%g6 + {Y}], %g1                ! keep
            wr %g1, 0, %y                       ! keep
            .irp n, 0, 1, 2, 3, 4, 5
            ldx [%g6 + {O0} + 8 * \\n], %o\\n   ! keep
            .endr
            ldx [%g6 + {O6}], %o6               ! keep
            ldx [%g6 + {O7}], %o7               ! keep
            done                                ! return

    1:      .set .Lsun4v_place, {WINDOWS}       ! the guest uses windows that Rust needs: save them
            .rept {FIRST}
            save
            .irp n, 0, 1, 2, 3, 4, 5, 6, 7
            stx %l\\n, [%g6 + .Lsun4v_place + 8 * \\n]
            stx %o\\n, [%g6 + .Lsun4v_place + 64 + 8 * \\n]
            .endr
            .set .Lsun4v_place, .Lsun4v_place + 128
            .endr
            .rept {FIRST}
            restore
            .endr
            ba,a,pt %xcc, sun4v_general_wait

    2:      .set .Lsun4v_place, {WINDOWS}
            .rept {FIRST}
            save
            .irp n, 0, 1, 2, 3, 4, 5, 6, 7
            ldx [%g6 + .Lsun4v_place + 8 * \\n], %l\\n
            ldx [%g6 + .Lsun4v_place + 64 + 8 * \\n], %o\\n
            .endr
            .set .Lsun4v_place, .Lsun4v_place + 128
            .endr
            ba,a,pt %xcc, 5b

    3:      rdpr %cwp, %g2                      ! restore -%g4 more windows: see sun4v_window
            add %g2, {FIRST}, %g1
            add %g6, {WINDOWS} + 128 * {FIRST}, %g3
    4:      inc %g1
            and %g1, {NWINDOWS} - 1, %g1
            wrpr %g1, 0, %cwp
            .irp n, 0, 1, 2, 3, 4, 5, 6, 7
            ldx [%g3 + 8 * \\n], %l\\n
            ldx [%g3 + 64 + 8 * \\n], %o\\n
            .endr
            inc %g4
            brnz,pt %g4, 4b
             add %g3, 128, %g3
            wrpr %g2, 0, %cwp
            rdpr %tl, %g1
            cmp %g1, 2
            bgeu,pn %xcc, 6b
             ldx [%g6 + {CANRESTORE}], %g1
            wrpr %g0, 2, %tl
            ", $crate::sun4v_clear_level!(), "
            wrpr %g0, 1, %tl
            ba,pt %xcc, 6b
             ldx [%g6 + {CANRESTORE}], %g1

    11:                                         ! what uses %g7 can begin again: see sun4v_late
    sun4v_window:                               ! Rust needs one more window: save the guest's values in it
            wrpr %g0, {MAXGL}, %gl              ! QEMU has more levels
            rdpr %tstate, %g7                   ! compiled code may need the others
            srlx %g7, {GL_SHIFT}, %g7
            and %g7, 7, %g7
            cmp %g7, {MAXGL}
            bne,pn %xcc, sun4v_trapped
             rdpr %otherwin, %g7
            cmp %g7, {NWINDOWS} - 2 - {ALL}
            be,pn %xcc, sun4v_trapped
             rdpr %cwp, %g7
            sub %g7, 1, %g7                     ! the processor is in the window behind it
            and %g7, {NWINDOWS} - 1, %g7
            wrpr %g7, 0, %cwp
    12:     rdpr %otherwin, %g7
            sllx %g7, 7, %g7
            sub %g6, %g7, %g7
            .irp n, 0, 1, 2, 3, 4, 5, 6, 7
            stx %l\\n, [%g7 + {WINDOWS} + 128 * ({NWINDOWS} - 2) + 8 * \\n]
            stx %o\\n, [%g7 + {WINDOWS} + 128 * ({NWINDOWS} - 2) + 64 + 8 * \\n]
            .endr
    14:     saved
            retry
            .pushsection .sun4v.restarts, \"a\"
            .xword 11b, 12b, 11b
            .xword 12b, 14b, 12b
            .popsection
            "],
            [NWINDOWS MAXGL GL_SHIFT O0 O6 O7 Y CANSAVE CANRESTORE OTHERWIN CLEANWIN WINDOWS LIMIT SERVED_FAST HANDLER TRACED
             FAST CORE EBADTRAP STACK CLEAR_HTSTATE],
            { FIRST = const $crate::sparc64::layout::FIRST_WINDOWS,
              ALL = const $crate::sparc64::WINDOWS,
              core = sym $crate::sparc64::core_entry::<$handler>,
              trap = sym $crate::sparc64::trap_entry::<$handler> }
        );
    };
}
