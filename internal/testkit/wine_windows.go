package testkit

import "syscall"

func isWine() bool { return syscall.NewLazyDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil }
