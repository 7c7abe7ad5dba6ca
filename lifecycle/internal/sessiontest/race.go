//go:build race

package sessiontest

const RaceEnabled = true
