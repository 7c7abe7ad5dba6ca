//go:build !seatbelt

package integration

func onlySeatbelt() {}
