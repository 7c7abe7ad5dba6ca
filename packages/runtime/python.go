package runtime

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// PythonFits reports whether a version of Python is in a requires-python of a package:
// comparisons with commas between them (PEP 440, "Version specifiers"). Releases are
// compared by their numbers; a version with a suffix, such as 3.14.0rc1, comes before its
// release. Specifiers with a prerelease, an epoch or "===" are errors.
func PythonFits(rng, version string) (bool, error) {
	all := true
	for spec := range strings.SplitSeq(rng, ",") {
		if spec = strings.TrimSpace(spec); spec == "" {
			continue
		}
		ok, err := specifierHolds(spec, version)
		if err != nil {
			return false, fmt.Errorf("the Python versions %q cannot be read: %w", rng, err)
		}
		all = all && ok
	}
	return all, nil
}

func specifierHolds(spec, version string) (bool, error) {
	op := ""
	for _, o := range [...]string{"~=", "==", "!=", "<=", ">=", "<", ">"} {
		if strings.HasPrefix(spec, o) {
			op = o
			break
		}
	}
	want := strings.TrimSpace(spec[len(op):])
	open := strings.HasSuffix(want, ".*")
	var given []int
	for part := range strings.SplitSeq(strings.TrimSuffix(want, ".*"), ".") {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil || op == "" || len(given) == 4 {
			return false, fmt.Errorf("%q is not a comparison such as >=3.10", spec)
		}
		given = append(given, int(n))
	}
	if open && op != "==" && op != "!=" || op == "~=" && len(given) < 2 {
		return false, fmt.Errorf("%q is not a comparison such as >=3.10", spec)
	}
	have := numbers(version)
	prefix := given[:min(len(given), 3)]
	same := slices.Equal(have[:len(prefix)], prefix)
	c := slices.Compare(have[:], append(slices.Clone(given), 0, 0, 0)[:3])
	// 3.14.0rc1 comes before 3.14.0, though their numbers are equal.
	if c == 0 && isRelease(version) == 0 {
		c = -1
	}
	switch op {
	case "==":
		return open && same || !open && c == 0, nil
	case "!=":
		return !(open && same || !open && c == 0), nil
	case "~=":
		last := min(len(given)-1, 3)
		return c >= 0 && slices.Equal(have[:last], given[:last]), nil
	case "<":
		// PEP 440: "<3.14" leaves out the prereleases of 3.14 too.
		return c < 0 && (isRelease(version) == 1 || slices.Compare(have[:], append(slices.Clone(given), 0, 0, 0)[:3]) != 0), nil
	case "<=":
		return c <= 0, nil
	case ">":
		return c > 0, nil
	}
	return c >= 0, nil
}
