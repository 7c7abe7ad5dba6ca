//go:build race

package supervisor

// UnderRace reports whether the race detector is built in. The detector needs cgo, under which
// only one thread can drop its capabilities (see errCgo). Only tests are built so.
const UnderRace = true
