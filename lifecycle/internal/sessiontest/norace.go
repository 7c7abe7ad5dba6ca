//go:build !race

package sessiontest

const RaceEnabled = false
