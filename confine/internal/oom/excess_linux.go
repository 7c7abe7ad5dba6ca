package oom

import (
	"cmp"
	"slices"
)

// excess chooses which processes to end while the jail is over its limit of memory,
// and knows when that is of no use.
type excess struct {
	ended  map[string]bool // were chosen before and are still there
	Again  []Member        // of them those that the jail is over its limit with
	strain int             // rises with each sample that has to choose, falls with one below the limit
}

// How much a sample that has to choose adds to the strain, and how much of it ends the
// jail: five such samples in a row, or ten of twenty.
const strainOfOne, mostStrain = 2, 10

// lost tells that ending processes does not bring the jail below its limit: there are
// new ones as fast.
func (e *excess) Lost() bool { return e.strain >= mostStrain }

// choose takes the largest processes until what is left would be below the limit, and
// further below it each time that this was not enough. Proportional memory is no less
// than what the end of a process frees, so they are rather too few: the next sample
// will tell. Nobody is chosen in the place of a process that was and has not ended yet.
func (e *excess) choose(members []Member, used, limit int64) (chosen []Member) {
	before := e.ended
	e.ended, e.Again = map[string]bool{}, nil
	left := used
	var others []Member
	for _, m := range members {
		if !before[m.Pid] {
			others = append(others, m)
			continue
		}
		e.ended[m.Pid] = true
		left -= m.weight()
		if used > limit {
			e.Again = append(e.Again, m) // it may be another one, with the same number
		}
	}
	if used <= limit {
		e.strain = max(0, e.strain-1)
	}
	if left <= limit {
		return nil
	}
	slices.SortFunc(others, func(a, b Member) int { return cmp.Compare(b.weight(), a.weight()) })
	enough := limit - limit/mostStrain*int64(e.strain)
	for _, m := range others {
		if left <= enough || m.weight() == 0 {
			break
		}
		left -= m.weight()
		chosen = append(chosen, m)
		e.ended[m.Pid] = true
	}
	if len(chosen) > 0 {
		e.strain += strainOfOne
	}
	return chosen
}

// weight is what the end of a process frees at most.
func (m Member) weight() int64 { return m.Total + max(0, m.held-m.shmem) }
