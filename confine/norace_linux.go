//go:build !race

package confine

const underRace = false
