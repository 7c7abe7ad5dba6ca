//go:build !linux

package main

func withoutNamespacesMain() {}
