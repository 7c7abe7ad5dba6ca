package seatbelt_test

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/policy"
)

// BenchmarkCompile makes the texts of which each start makes one.
func BenchmarkCompile(b *testing.B) {
	for name, p := range map[string]*policy.Profile{"default": workspace("/Users/me/work"), "200_entries": manyEntries()} {
		for _, says := range []string{"conditional"} {
			b.Run(name+"/"+says, func(b *testing.B) {
				in := seatbelt.Input{Profile: p, Self: "/opt/mcp-jail", TempDir: "/private/tmp/mj-1-2", ProxyPort: 4711}
				var size int
				for b.Loop() {
					text, err := seatbelt.Compile(in)
					if err != nil {
						b.Fatal(err)
					}
					size = len(text.Profile)
				}
				b.ReportMetric(float64(size), "bytes")
			})
		}
	}
}
