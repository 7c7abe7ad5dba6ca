//go:build !race

package supervisor

const UnderRace = false
