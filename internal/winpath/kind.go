package winpath

import "io/fs"

// IsFile reports whether a mode, found behind all links on a system as in runtime.GOOS, is that of a file with
// contents. Windows shows some files, such as those that OneDrive keeps elsewhere, as reparse points with
// a tag that the Go library does not know, and calls irregular. A program that opens one can read it.
func IsFile(system string, mode fs.FileMode) bool {
	return mode.IsRegular() || system == "windows" && mode.Type() == fs.ModeIrregular
}
