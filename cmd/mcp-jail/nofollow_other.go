//go:build !unix

package main

const noFollow = 0 // there are no jails on this system
