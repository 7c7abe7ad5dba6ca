package runtime

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A Language is what an interpreter runs.
type Language string

const (
	Node   Language = "node"
	Python Language = "python"
)

// An Interpreter is a program of this machine that can be started.
type Interpreter struct {
	Language Language
	Path     string   // absolute, without links
	Version  string   // 20.11.1, without a "v"
	Sources  []string // where it was found: PATH, or the name of a version manager
	// Default reports that PATH gives this one.
	Default bool
}

// A Refusal is an interpreter that was found and is not used.
type Refusal struct {
	Path, Source string
	Reason       string
	Err          error // of asking for the version; nil otherwise
}

// Found is all that a search found of one language.
type Found struct {
	Language     Language
	Interpreters []Interpreter // in the order of the search, PATH first
	Refused      []Refusal
}

// numbers returns the first three numbers of a version, with 0 for those that are missing.
func numbers(version string) (out [3]int) {
	for i, part := range strings.SplitN(version, ".", 3) {
		end := 0
		for end < len(part) && part[end] >= '0' && part[end] <= '9' {
			end++
		}
		out[i], _ = strconv.Atoi(part[:end])
	}
	return out
}

// compareVersions orders versions by their numbers; a prerelease comes before its release.
func compareVersions(a, b string) int {
	x, y := numbers(a), numbers(b)
	if c := slices.Compare(x[:], y[:]); c != 0 {
		return c
	}
	return cmp.Compare(isRelease(a), isRelease(b))
}

func isRelease(version string) int {
	if strings.Trim(version, "0123456789.") == "" {
		return 1
	}
	return 0
}
