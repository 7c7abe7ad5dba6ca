//go:build !unix

package main

const noFollow = 0 // nothing runs in a jail here
