package features

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestCacheKeepsOnlyCertainAnswers(t *testing.T) {
	var m featureCache
	answers := []Feature{Undetermined("busy"), Unavailable("x", "y"), Available("")}
	asked := 0
	probe := func() Feature { asked++; return answers[asked-1] }
	for i, want := range []Answer{Unknown, No, No, No} {
		if got := m.Get("f", probe).Answer; got != want {
			t.Errorf("question %d: %v, want %v", i, got, want)
		}
	}
	if asked != 2 {
		t.Errorf("the probe ran %d times, want 2", asked)
	}
}

// A running session is not dumpable. Its probe must not take the EACCES of uid_map for a refusal
// of the host. Root may write uid_map all the same.
func TestProbeOfAnUndumpableProcess(t *testing.T) {
	if f := ProbeUserNamespaces(); f.Answer != Yes {
		t.Skip("this host has no user namespaces for this user: " + f.Detail)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	if f := ProbeUserNamespaces(); f.Answer == No {
		t.Errorf("the probe says No in an undumpable process: %s", f.Detail)
	}
}

func TestConfiningProfile(t *testing.T) {
	for current, want := range map[string]string{
		"": "", "unconfined": "", "unconfined (enforce)": "", "vscode (unconfined)": "",
		"docker-default (enforce)": "docker-default", "bwrap//&unpriv_bwrap (enforce)": "bwrap//&unpriv_bwrap", "odd": "odd",
	} {
		if got := confiningProfile(current); got != want {
			t.Errorf("%q: %q, want %q", current, got, want)
		}
	}
}
