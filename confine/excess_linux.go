package confine

import (
	"cmp"
	"slices"
)

// excess chooses which processes to end while the jail is over its limit of memory,
// and knows when that is of no use.
type excess struct {
	ended  map[string]bool // were chosen before and are still there
	again  []member        // of them those that the jail is over its limit with
	strain int             // rises with each sample that has to choose, falls with one below the limit
}

// How much a sample that has to choose adds to the strain, and how much of it ends the
// jail: five such samples in a row, or ten of twenty.
const strainOfOne, mostStrain = 2, 10

// lost tells that ending processes does not bring the jail below its limit: there are
// new ones as fast.
func (e *excess) lost() bool { return e.strain >= mostStrain }

// choose takes the largest processes until what is left would be below the limit, and
// further below it each time that this was not enough. Proportional memory is no less
// than what the end of a process frees, so they are rather too few: the next sample
// will tell. Nobody is chosen in the place of a process that was and has not ended yet.
func (e *excess) choose(members []member, used, limit int64) (chosen []member) {
	before := e.ended
	e.ended, e.again = map[string]bool{}, nil
	left := used
	var others []member
	for _, m := range members {
		if !before[m.pid] {
			others = append(others, m)
			continue
		}
		e.ended[m.pid] = true
		left -= m.weight()
		if used > limit {
			e.again = append(e.again, m) // it may be another one, with the same number
		}
	}
	if used <= limit {
		e.strain = max(0, e.strain-1)
	}
	if left <= limit {
		return nil
	}
	slices.SortFunc(others, func(a, b member) int { return cmp.Compare(b.weight(), a.weight()) })
	enough := limit - limit/mostStrain*int64(e.strain)
	for _, m := range others {
		if left <= enough || m.weight() == 0 {
			break
		}
		left -= m.weight()
		chosen = append(chosen, m)
		e.ended[m.pid] = true
	}
	if len(chosen) > 0 {
		e.strain += strainOfOne
	}
	return chosen
}

// weight is what the end of a process frees at most.
func (m member) weight() int64 { return m.total + max(0, m.held-m.shmem) }
