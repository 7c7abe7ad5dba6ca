//go:build !seatbelt

package integration

import "testing"

func onlySeatbelt() {}

func standIns() {}

func confineTLS(testing.TB) {}
