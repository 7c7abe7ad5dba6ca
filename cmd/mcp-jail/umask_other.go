//go:build !unix

package main

func clearOwnerUmask() *int { return nil }
