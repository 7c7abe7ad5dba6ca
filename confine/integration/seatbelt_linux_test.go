//go:build seatbelt

package integration

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// underSeatbelt are the tests that run with the tag seatbelt, each with what it shows there. All others
// are about refusals, which nothing makes here, or about mechanisms of Linux. A new test is one of
// those until it is named here: what it starts is not confined.
var underSeatbelt = map[string]string{
	"TestSeatbeltTable":                   "this table",
	"TestSeatbeltDeaths":                  "the death of each process of a start",
	"TestSeatbeltFailures":                "how sandbox-exec fails",
	"TestSeatbeltCanaries":                "what must be refused before the server starts",
	"TestServerCannotChangeItsSupervisor": "where the program of a supervisor may be",
	"TestSeatbeltLimits":                  "the sampler",
	"TestJailExit":                        "how a server ended",
	"TestJailSignalsArePassedOn":          "signals",
	"TestJailEndsDaemons":                 "processes that leave the session",
	"TestJailLauncherIsKilled":            "the death of mcp-jail",
	"TestJailStartIsCancelled":            "a start that is cancelled at any moment",
	"TestJailOpenFiles":                   "the limit of descriptors",
	"TestJailMakesNoCore":                 "no core dumps",
	"TestJailScheduling":                  "what a server inherits",
	"TestJailEndOfFile":                   "the end of standard input",
	"TestSeatbeltEvidence":                "what the log of the system tells of refusals",
	"TestSeatbeltLeftProfiles":            "what launchers that were killed have left",
	"TestSeatbeltInbound":                 "ports on which a server listens",
	"TestSeatbeltEnvironment":             "what a server has of the variables of the host",
	"TestSeatbeltEgress":                  "granted hosts, by the tests of inWorldSeatbelt",
}

// onlySeatbelt leaves the other tests out: no code of theirs runs.
func onlySeatbelt() {
	names := slices.Sorted(maps.Keys(underSeatbelt))
	flag.Parse()
	if asked := flag.Lookup("test.run").Value.String(); asked != "" {
		names = slices.DeleteFunc(names, func(n string) bool { return !regexp.MustCompile(strings.Split(asked, "/")[0]).MatchString(n) })
	}
	flag.Set("test.run", "^("+strings.Join(names, "|")+")$")
}

// TestSeatbeltTable: each name of the table is a test.
func TestSeatbeltTable(t *testing.T) {
	files, _ := filepath.Glob("*_test.go")
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	for name := range underSeatbelt {
		if !strings.Contains(all.String(), "\nfunc "+name+"(") {
			t.Errorf("no test is called %s", name)
		}
	}
}
