//go:build race

package supervisor

// underRace: the race detector brings cgo, with which the init's other threads keep the
// capabilities that the jail was built with. It is for tests.
const UnderRace = true
