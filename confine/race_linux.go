//go:build race

package confine

// underRace: the race detector brings cgo, with which the init's other threads keep the
// capabilities that the jail was built with. It is for tests.
const underRace = true
