; cat any.smt2 turns.smt2 hub.smt2 goes_on.smt2 | z3 -in
; While y waits and keeps pace, y still waits after any event.

; Another strand asks. Strand y is not forgotten, because it keeps pace.
(push)
(assert (waits h))
(assert (distinct s y))
(assert (calls s))
(assert keeps-pace)
(check-sat) ; sat
(assert (not (waits after-ask)))
(check-sat) ; unsat
(pop)

; Strand y asks, and does not get the hub.
(push)
(assert (waits h))
(assert (= s y))
(assert (not gets))
(check-sat) ; sat
(assert (not (waits after-ask)))
(check-sat) ; unsat
(pop)

; A strand cannot enter the gate.
(push)
(assert (waits h))
(assert (calls s))
(check-sat) ; sat
(assert (not (waits after-locked)))
(check-sat) ; unsat
(pop)

; The access in flight ends.
(push)
(assert (waits h))
(assert (not free))
(check-sat) ; sat
(assert (not (waits after-end)))
(check-sat) ; unsat
(pop)

; The access in flight ends, and its strand gives the turn to the next remembered strand.
(push)
(assert (waits h))
(assert (not free))
(assert to-is-next)
(check-sat) ; sat
(assert (not (waits after-passing-on)))
(check-sat) ; unsat
(pop)

; The strand of the access found the chip busy.
(push)
(assert (waits h))
(assert (not free))
(check-sat) ; sat
(assert (not (waits after-chip-busy)))
(check-sat) ; unsat
(pop)

; Another strand dies: the first half.
(push)
(assert (waits h))
(assert (distinct s y))
(check-sat) ; sat
(assert (not (waits after-forgotten)))
(check-sat) ; unsat
(pop)

; The second half.
(push)
(assert (waits h))
(assert (distinct s y))
(check-sat) ; sat
(assert (not (waits after-turn-lost)))
(check-sat) ; unsat
(pop)
