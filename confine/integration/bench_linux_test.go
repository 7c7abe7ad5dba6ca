package integration

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// BenchmarkMediatedCall measures a call that the supervisor carries out, against
// the same one without a jail. The start of the program is not in it.
func BenchmarkMediatedCall(b *testing.B) {
	jailtest.Needs(b)
	dir := testkit.Plant(b, "file")
	p := jailtest.Profile(b, jailtest.Grant{Path: dir, Rights: rw})
	for _, call := range slices.Sorted(maps.Keys(attacker.MediatedCallsTimed)) {
		timed := func(run func(a attacker.Attempt) attacker.Outcome) func(b *testing.B) {
			return func(b *testing.B) {
				got, ok := strings.CutPrefix(run(attacker.Try("timed", call, strconv.Itoa(b.N), dir)), attacker.Succeeded+" ")
				ns, err := strconv.ParseFloat(got, 64)
				if !ok || err != nil {
					b.Fatal(got, err)
				}
				b.ReportMetric(ns/float64(b.N), "ns/op")
			}
		}
		b.Run(call+"/bare", timed(func(a attacker.Attempt) attacker.Outcome { return jailtest.Unconfined(b, "/", a)[0] }))
		b.Run(call+"/jail", timed(func(a attacker.Attempt) attacker.Outcome { return jailtest.Attempts(b, p, a)[0] }))
	}
}
