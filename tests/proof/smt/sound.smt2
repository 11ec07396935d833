; cat any.smt2 turns.smt2 hub.smt2 sound.smt2 | z3 -in
; `sound` is true of a new hub, and stays true after any event.

; A new hub.
(push)
(assert (= h (hub new none false false 0)))
(check-sat) ; sat
(assert (not (sound h)))
(check-sat) ; unsat
(pop)

; A strand asks.
(push)
(assert (sound h))
(assert (calls s))
(check-sat) ; sat
(assert (not (sound after-ask)))
(check-sat) ; unsat
(pop)

; A strand cannot enter the gate.
(push)
(assert (sound h))
(assert (calls s))
(check-sat) ; sat
(assert (not (sound after-locked)))
(check-sat) ; unsat
(pop)

; The access in flight ends.
(push)
(assert (sound h))
(assert (not free))
(check-sat) ; sat
(assert (not (sound after-end)))
(check-sat) ; unsat
(pop)

; The access in flight ends, and its strand gives the turn to the next remembered strand.
(push)
(assert (sound h))
(assert (not free))
(assert to-is-next)
(check-sat) ; sat
(assert (not (sound after-passing-on)))
(check-sat) ; unsat
(pop)

; The strand of the access found the chip busy.
(push)
(assert (sound h))
(assert (not free))
(check-sat) ; sat
(assert (not (sound after-chip-busy)))
(check-sat) ; unsat
(pop)

; A strand that is not y dies: the first half.
(push)
(assert (sound h))
(assert (distinct s y))
(check-sat) ; sat
(assert (not (sound after-forgotten)))
(check-sat) ; unsat
(pop)

; The second half.
(push)
(assert (sound h))
(assert (distinct s y))
(check-sat) ; sat
(assert (not (sound after-turn-lost)))
(check-sat) ; unsat
(pop)

; Strand y dies, while no other strand decides.
(push)
(assert (sound h))
(assert (= s y))
(check-sat) ; sat
(assert (not (let ((g after-forgotten)) (sound (hub (died (known h) s) (holder g) (early g) (had g) (asks g))))))
(check-sat) ; unsat
(pop)

; The hub is scrubbed for another guest.
(push)
(assert (sound h))
(assert free)
(check-sat) ; sat
(assert (not (sound (hub (renewed (known h)) none (early h) (had h) (asks h)))))
(check-sat) ; unsat
(pop)
