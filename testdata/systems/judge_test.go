package main

import (
	"io"
	"strings"
	"testing"
)

// TestProbes has reports of doctor, one of which is good.
func TestProbes(t *testing.T) {
	for report, good := range map[string]bool{
		`{"features":{},"self_test":{"made":true,"passed":[{"id":"R1"}]}}`:          true,
		`{"self_test":{"made":true,"failed":[{"id":"R2"}],"passed":[{"id":"R1"}]}}`: false,
		`{"self_test":{"made":true,"failed":[{"id":"R2"}]}}`:                        false,
		`{"self_test":{"made":true,"passed":[]}}`:                                   false,
		`{"features":{}}`: false,
		``:                false,
	} {
		if err := probes(strings.NewReader(report), io.Discard); (err == nil) != good {
			t.Errorf("%s: %v", report, err)
		}
	}
}

// TestSkipped has outputs of go test -json, one of which is good.
func TestSkipped(t *testing.T) {
	const pass, empty = `{"Action":"pass","Package":"p","Test":"T"}` + "\n", `{"Action":"skip","Package":"q"}` + "\n"
	for output, good := range map[string]bool{
		pass + empty: true,
		pass + `{"Action":"output","Package":"p","Test":"U","Output":"needs x"}` + "\n" + `{"Action":"skip","Package":"p","Test":"U"}`: false,
		pass + `{"Action":"fail","Package":"p"}`:          false,
		pass + `{"Action":"build-fail","ImportPath":"p"}`: false,
		pass + "panic": false,
		empty:          false,
		"":             false,
	} {
		if err := skipped(strings.NewReader(output), io.Discard); (err == nil) != good {
			t.Errorf("%s: %v", output, err)
		}
	}
}
