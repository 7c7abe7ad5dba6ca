//go:build !race

package supervisor

// UnderRace reports whether the race detector is built in.
const UnderRace = false
