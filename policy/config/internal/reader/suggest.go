package reader

// Suggest returns the candidate that word most likely means: the one with the smallest edit
// distance. The distance may be two, or a third of the candidate's length if that is more. The
// first of equal candidates wins. Suggest returns "" if none is close.
func Suggest(word string, candidates []string) string {
	if len(word) > 64 {
		return "" // a hostile key is not a typing error
	}
	best, bestDistance := "", 1<<30
	for _, c := range candidates {
		most := max(2, (len(c)+1)/3)
		// The lengths alone are too far apart.
		if gap := len(word) - len(c); max(gap, -gap) > most {
			continue
		}
		if d := editDistance(word, c); d <= most && d < bestDistance && d < len(c) {
			best, bestDistance = c, d
		}
	}
	return best
}

func editDistance(a, b string) int {
	before := make([]int, len(b)+1) // the row before the previous one, for swaps
	prev := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}
