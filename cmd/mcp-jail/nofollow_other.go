//go:build !unix

package main

const noFollow = 0 // this system has no such flag
