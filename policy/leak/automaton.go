package leak

// automaton finds many patterns in one pass (Aho and Corasick). Its table has an entry for each
// state and each class of bytes. So each byte of a text takes one step.
type automaton struct {
	class [256]uint16 // 0: bytes that no pattern has
	// next has the state after a state and a class of bytes, at the sum of both: a state is the place
	// of its row in next.
	next []uint32
	ends map[uint32][]int // the patterns that a text ends with in a state
}

// ending marks the states in ends, where next has them.
const ending = 1 << 31

func newAutomaton(patterns [][]byte) *automaton {
	a := &automaton{ends: map[uint32][]int{}}
	classes := uint16(1)
	for _, p := range patterns {
		for _, c := range p {
			if a.class[c] == 0 {
				a.class[c] = classes
				classes++
			}
		}
	}
	size := int(classes)
	for _, p := range patterns {
		size += len(p) * int(classes)
	}
	a.next = make([]uint32, classes, size)
	for i, p := range patterns {
		state := uint32(0)
		for _, c := range p {
			at := state + uint32(a.class[c])
			if a.next[at] == 0 {
				a.next[at] = uint32(len(a.next))
				a.next = a.next[:len(a.next)+int(classes)]
			}
			state = a.next[at]
		}
		a.ends[state] = append(a.ends[state], i)
	}
	a.complete(uint32(classes))
	return a
}

// complete fills the entries behind which no pattern goes on, and marks those of states in ends. It
// begins with the shortest beginnings of patterns: where no pattern goes on, what follows the next
// shorter one that a state ends with is known then.
func (a *automaton) complete(classes uint32) {
	shorter := make([]uint32, len(a.next)/int(classes)) // by state
	for queue := []uint32{0}; len(queue) > 0; queue = queue[1:] {
		state := queue[0]
		for c := range classes {
			after := uint32(0)
			if state != 0 {
				after = a.next[shorter[state/classes]+c]
			}
			to := a.next[state+c]
			if to == 0 {
				a.next[state+c] = after
				continue
			}
			queue = append(queue, to)
			shorter[to/classes] = after &^ ending
			if after&ending != 0 {
				a.ends[to] = append(a.ends[to], a.ends[after&^ending]...)
			}
			if a.ends[to] != nil {
				a.next[state+c] = to | ending
			}
		}
	}
}

// each calls found for each pattern in a text, with the place behind it.
func (a *automaton) each(text []byte, found func(pattern, end int)) {
	state := uint32(0)
	for i, c := range text {
		state = a.next[state+uint32(a.class[c])]
		if state&ending != 0 {
			state &^= ending
			for _, p := range a.ends[state] {
				found(p, i+1)
			}
		}
	}
}
