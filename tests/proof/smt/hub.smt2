; A hub: the turns, the access in flight, and the account of two strands, x and y. While y waits, x has at most one access. Because x is any
; other strand, the other strands have at most n - 1 accesses. The wait of y begins when y is refused, and ends when y is served or dies.
(declare-datatypes ((Hub 0)) (((hub
  (known Turns)
  (holder Int)     ; the strand that has the access in flight, or none
  (early Bool)     ; that access was granted before the wait began
  (had Bool)       ; x was granted an access since
  (asks Int)))))   ; how often others have asked since y asked last

(declare-const h Hub)
(declare-const y Int)
(declare-const x Int)
(assert (and (strand y) (strand x) (distinct x y)))

; Strand s asks.
(declare-const s Int)
(declare-const r Int)
(declare-const next Int)
(assert (strand s))
; r is twice the number of strands in `asking`, which contains at least s.
(assert (>= r 2))
; If the turn passes on, `next` is a candidate, and none of s, y and x is a nearer candidate. Other strands do not matter.
(define-fun not-nearer ((z Int)) Bool
  (=> (has (candidates (known h) s) z) (<= (ahead (from (known h) s) next) (ahead (from (known h) s) z))))
(assert (strand next))
(assert (=> (not (goes-on (known h) s r))
  (and (has (candidates (known h) s) next) (not-nearer s) (not-nearer y) (not-nearer x))))

(define-fun free () Bool (= (holder h) none))
(define-fun gets () Bool (and free (served (known h) s r next)))
(define-fun after-ask () Hub
  (hub
    (ite free (asks-free (known h) s r next) (asks-taken (known h) s))
    (ite gets s (holder h))
    (early h)
    (or (had h) (and gets (= s x)))
    (ite (= s y) 0 (+ (asks h) 1))))
; Strand s cannot enter the gate. This does not count as an ask.
(define-fun after-locked () Hub
  (hub (asks-taken (known h) s) (holder h) (early h) (had h) (asks h)))
; The access in flight ends.
(define-fun after-end () Hub
  (hub (known h) none false (had h) (asks h)))
; The access in flight ends, and its strand gives the turn to the next remembered strand.
(declare-const to Int)
(define-fun not-nearer-than-to ((z Int)) Bool
  (=> (has (remembered (known h)) z) (<= (ahead (last (known h)) to) (ahead (last (known h)) z))))
(define-fun to-is-next () Bool
  (or (and (= to none) (= (remembered (known h)) nobody))
    (and (strand to) (has (remembered (known h)) to) (not-nearer-than-to y) (not-nearer-than-to x))))
(define-fun after-passing-on () Hub
  (hub (ended (known h) to) none false (had h) (asks h)))
; The strand of the access found the chip busy, so the access did not happen.
(define-fun after-chip-busy () Hub
  (hub (chip-busy (known h) (holder h)) none false (and (had h) (distinct x (holder h))) (asks h)))
; Strand s dies. If s has the access in flight, the access ends.
(define-fun after-forgotten () Hub
  (let ((dead (= (holder h) s)))
    (hub (forgotten (known h) s) (ite dead none (holder h)) (and (early h) (not dead)) (had h) (asks h))))
(define-fun after-turn-lost () Hub
  (hub (turn-lost (known h) s) (holder h) (early h) (had h) (asks h)))
; The wait begins.
(define-fun begun ((h Hub)) Hub
  (hub (known h) (holder h) (distinct (holder h) none) false 0))

; What is true of every hub. If y has the turn, y is remembered and the hub is free.
(define-fun sound ((h Hub)) Bool
  (and
    (>= (refusals (known h)) 0)
    (strand (last (known h)))
    (or (= (turn (known h)) none) (strand (turn (known h))))
    (or (= (holder h) none) (strand (holder h)))
    (=> (= (turn (known h)) y) (and (has (remembered (known h)) y) (= (holder h) none)))))

; Strand z is after a and before b.
(define-fun between ((a Int) (z Int) (b Int)) Bool (< (ahead a z) (ahead a b)))
; Strand z may have an access before y. The turn moves from `last` to y. Only a strand that found the chip busy can have the turn without
; being between `last` and y; then the turn moves from this strand to y.
(define-fun before-y ((h Hub) (z Int)) Bool
  (let ((t (turn (known h))))
    (ite (or (= t none) (= t y) (between (last (known h)) t y))
      (between (last (known h)) z y)
      (or (= z t) (between t z y)))))

; What is true while y waits.
(define-fun waits ((h Hub)) Bool
  (and (sound h)
    (has (remembered (known h)) y)
    (distinct (holder h) y)
    (>= (asks h) 0)
    ; Each refusal in the turn of y is an ask of another strand since y last asked.
    (=> (= (turn (known h)) y) (<= (refusals (known h)) (asks h)))
    ; While an access that was granted before the wait is in flight, x has been granted no access since.
    (=> (early h) (and (distinct (holder h) none) (not (had h))))
    ; Any other access in flight belongs to the strand that had the last turn, and no strand has the turn.
    (=> (and (distinct (holder h) none) (not (early h)))
      (and (= (last (known h)) (holder h)) (= (turn (known h)) none)))
    ; After its access, x has no second access before y.
    (=> (had h) (not (before-y h x)))))

; y asks at least once in every r asks of the others: when another strand asks, the others have asked fewer than r times since y last asked.
(define-fun keeps-pace () Bool (< (asks h) r))
; A strand that has an access in flight does not ask.
(define-fun calls ((z Int)) Bool (distinct (holder h) z))
