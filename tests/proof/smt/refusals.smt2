; cat any.smt2 turns.smt2 hub.smt2 refusals.smt2 | z3 -in
; The bound r: what a strand x costs the others that was refused and has gone.

; A refusal at a free hub is on behalf of a remembered strand, not of the one that asks, and is no more than the r-th in that turn.
(push)
(assert (sound h))
(assert (distinct s x))
(assert (calls s))
(assert free)
(assert (not gets))
(check-sat) ; sat
(assert (not (let ((g (known after-ask))) (and (has (remembered g) (turn g)) (distinct (turn g) s) (<= 1 (refusals g) r)))))
(check-sat) ; unsat
(pop)

; While the turn stays with x, each refusal counts.
(push)
(assert (sound h))
(assert (distinct s x))
(assert (calls s))
(assert free)
(assert (not gets))
(assert (= (turn (known h)) x))
(assert (= (turn (known after-ask)) x))
(check-sat) ; sat
(assert (not (= (refusals (known after-ask)) (+ (refusals (known h)) 1))))
(check-sat) ; unsat
(pop)

; After r refusals x is forgotten,
(push)
(assert (sound h))
(assert (distinct s x))
(assert (calls s))
(assert free)
(assert (= (live (known h) s) x))
(assert (>= (refusals (known h)) r))
(check-sat) ; sat
(assert (not (not (has (remembered (known after-ask)) x))))
(check-sat) ; unsat
(pop)

; and not before.
(push)
(assert (sound h))
(assert (distinct s x))
(assert (calls s))
(assert free)
(assert (has (remembered (known h)) x))
(assert (not (and (= (turn (known h)) x) (>= (refusals (known h)) r))))
(check-sat) ; sat
(assert (not (has (remembered (known after-ask)) x)))
(check-sat) ; unsat
(pop)

; It is not remembered again because of what others do: they ask,
(push)
(assert (sound h))
(assert (distinct s x))
(assert (calls s))
(assert free)
(assert (not (has (remembered (known h)) x)))
(check-sat) ; sat
(assert (not (not (has (remembered (known after-ask)) x))))
(check-sat) ; unsat
(pop)

; or find the hub taken, or cannot enter.
(push)
(assert (sound h))
(assert (distinct s x))
(assert (not (has (remembered (known h)) x)))
(check-sat) ; sat
(assert (not (not (has (remembered (known after-locked)) x))))
(check-sat) ; unsat
(pop)

; A strand that is served is not remembered: nobody is refused on its behalf until it is refused again.
(push)
(assert (sound h))
(assert (calls s))
(assert gets)
(check-sat) ; sat
(assert (has (remembered (known after-ask)) s))
(check-sat) ; unsat
(pop)
