//go:build !linux && !darwin && !freebsd

package jailed

// watchParent watches nothing on these systems.
func watchParent(int) (<-chan struct{}, error) { return nil, nil }
