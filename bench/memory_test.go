package main

import "testing"

func TestPSS(t *testing.T) {
	const rollup = "55d0-7ffe ---p 00000000 00:00 0    [rollup]\n" +
		"Rss:                9000 kB\nPss:                3000 kB\nPss_Dirty:           100 kB\nPss_Anon:            100 kB\n"
	if got, err := pssOf(rollup); err != nil || got != 3.072 {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "Rss: 1 kB\n", "Pss: many kB\n"} {
		if got, err := pssOf(bad); err == nil {
			t.Errorf("%q: got %v", bad, got)
		}
	}
}

func TestProcessorName(t *testing.T) {
	if got := processorName("processor\t: 0\nmodel name\t: Some: 3 GHz\nmodel name\t: other\n"); got != "Some: 3 GHz" {
		t.Errorf("got %q", got)
	}
	if got := processorName("processor\t: 0\nBogoMIPS\t: 50.00\n"); got != "" {
		t.Errorf("got %q", got)
	}
}
