package spec

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/landlock"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// sampleLimits has a different number in each field.
var sampleLimits = policy.Limits{MemoryMB: 1, Processes: 2, OpenFiles: 3, FileSizeMB: 4, MessageMB: 5}

// sampleSpec has every field set, so that the test finds a field that is not coded.
func sampleSpec() *Spec {
	return &Spec{
		HostPID: 4711,
		Mounts: []Mount{
			{Kind: MountBind, Path: "/w", IsDir: true, Dev: true, ID: policy.FileID{Dev: 1 << 40, Ino: 1<<63 + 5, Birth: -7}},
			{Kind: MountMask, Path: "/w/.env", ReadOnly: true, NoExec: true, OnExisting: true, InOverlay: true, UnderMask: true, Traversable: true},
			{Kind: MountTmpfs, Path: "/tmp", IsDir: true},
		},
		Links: []policy.Link{{Path: "/bin", Target: "usr/bin"}}, Files: []MadeFile{{"/etc/hosts", "127.0.0.1 localhost\n", true}},
		Devices: []string{"/dev/null", ""}, FreshProc: true, HostNames: true, Network: Network{true, true, []uint16{443, 65535}, []byte{1, 2}},
		Landlock: landlock.Ruleset{FS: 1<<17 - 1, Net: 3, Scoped: 3, Rules: []landlock.Rule{{Path: "/w", Access: 12, ID: policy.FileID{Dev: 1, Ino: 2, Birth: -3}}, {Path: "/tmp", Access: 1}}},
		Seccomp:  []byte{0x20, 0, 0, 0, 4, 0, 0, 0}, ListenerFilter: []byte{6, 0, 0, 0, 0, 0, 0, 0},
		Profile: policy.Profile{
			Entries:     []policy.Entry{{Ephemeral: true, Path: "/w", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginHome}},
			Unprotected: []string{"/w/.envrc"}, Hidden: []string{".env.*"}, GitDirs: []string{"/w/.git"}, Programs: []string{"/bin/cat"},
			CommandArgs: []string{"git"}, OwnPrograms: []string{"/bin/sh"}, AndCommands: []policy.Command{},
			Commands: []policy.Command{{
				Name: "git", Args: [][]string{{"log", "**"}, {}}, Envs: []string{"FOO"},
				Starts: []policy.Start{{File: "/bin/sh", Name: "sh", Paths: []string{"/bin/sh"}, Lead: []string{"-e"}, Script: "/bin/git"}},
			}, {Name: "ls", Envs: []string{}, Starts: []policy.Start{}}, {Name: "id", Starts: []policy.Start{}}},
		},
		WorkerRules: landlock.Ruleset{FS: 1, Net: 2, Scoped: 3, Rules: []landlock.Rule{{Path: "/w", Access: 3}}},
		Once:        true,
		Keep:        Keep{true, true, 2048},
		Limits:      sampleLimits, SampleMemory: true, PidMax: true,
		Inotify: Inotify{32, 16384}, Shared: 5 << 20, MustFail: []string{"/", "/home"}, Program: "/bin/cat", Argv: []string{"cat", "a b", "\xff\n"},
		Env: []string{"A=1", "B="}, Dir: "/w", HostNS: true, TempDir: "/tmp/x", Home: "/home/x", HomeCopy: "/home/y",
		Umask: 0o77,
	}
}

func TestSpecRoundTrip(t *testing.T) {
	o := sampleSpec()
	v := reflect.ValueOf(*o)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the sample leaves %s out", v.Type().Field(i).Name)
		}
	}
	got := testkit.Get(Decode(o.Encode()))(t)
	testkit.Equal(t, "became", got, o)
}

// TestProgramsRoundTrip checks that a profile that restricts no program and one that grants
// none stay different: nil allows every program, an empty list allows none.
func TestProgramsRoundTrip(t *testing.T) {
	for _, programs := range [][]string{nil, {}, {"/bin/cat"}} {
		o := &Spec{Profile: policy.Profile{Programs: programs}}
		got, err := Decode(o.Encode())
		if err != nil || !reflect.DeepEqual(got.Profile.Programs, programs) {
			t.Errorf("%#v became %#v, %v", programs, got.Profile.Programs, err)
		}
	}
}

// TestMountRoundTrip sets one flag of a mount at a time, so that two flags cannot be swapped.
func TestMountRoundTrip(t *testing.T) {
	for i := range 8 {
		m := Mount{Path: "/x"}
		*[]*bool{&m.IsDir, &m.ReadOnly, &m.NoExec, &m.Dev, &m.OnExisting, &m.UnderMask, &m.Traversable, &m.InOverlay}[i] = true
		o := &Spec{Mounts: []Mount{m}}
		testkit.Equal(t, "became", testkit.Get(Decode(o.Encode()))(t).Mounts[0], m)
	}
}

func TestDecodeRefusesMalformedSpecs(t *testing.T) {
	b := sampleSpec().Encode()
	for n := range b {
		testkit.Fails(t, fmt.Sprintf("the first %d of %d bytes are accepted", n, len(b)), testkit.ErrorOf(Decode(b[:n])), "")
	}
	testkit.Fails(t, "an additional byte is accepted", testkit.ErrorOf(Decode(append(b, 0))), "")
	other := append([]byte(nil), b...)
	other[len(specMagic)]++ // its last letter; one byte of length is in front
	testkit.Fails(t, "a Spec of another version is accepted", testkit.ErrorOf(Decode(other)), "")
}

func TestEventRoundTrip(t *testing.T) {
	m := Event{Kind: EventLimit, Step: "memory_mb", Num: -1, Detail: "memory", Arguments: "apush\x00", Pid: 7, Program: "node\n"}
	got, rest, err := NextEvent(append(m.Encode(), "next"...))
	testkit.Equal(t, "the rest", string(rest), "next")
	if err != nil || got != m {
		t.Errorf("%+v became %+v, %v", m, got, err)
	}
	for _, bad := range []string{"", "\x00\x00\x00", "\x7f\xff\xff\xff", "\x00\x00\x00\x05abcde", "\x00\x00\x00\x05ab"} {
		if _, _, err := NextEvent([]byte(bad)); err == nil {
			t.Errorf("%q is accepted as an event", bad)
		}
	}
}

// FuzzSpec checks that decoding ends on any input, and that an accepted Spec encodes and decodes
// to itself.
func FuzzSpec(f *testing.F) {
	b := sampleSpec().Encode()
	f.Add(b)
	f.Add((&Spec{}).Encode())
	f.Add(b[:len(b)/2])
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		c := append([]byte(nil), b...)
		for range 3 {
			c[random.IntN(len(c))] = byte(random.Uint32())
		}
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Decode(o.Encode())
		if err != nil || !reflect.DeepEqual(o, again) {
			t.Errorf("%+v became %+v, %v", o, again, err)
		}
	})
}

// FuzzEvent checks that decoding ends on any input.
func FuzzEvent(f *testing.F) {
	f.Add(string(Event{Kind: EventFailed, Step: "mounts", Num: 2}.Encode()))
	f.Fuzz(func(t *testing.T, s string) { NextEvent([]byte(s)) })
}

func TestArgumentsRoundTrip(t *testing.T) {
	long := strings.Repeat("x", maxArguments/2)
	for _, c := range []struct {
		args, want []string
		all        bool
	}{
		{nil, []string{}, true},
		{[]string{""}, []string{""}, true},
		{[]string{"push", "", "a b\n", ""}, []string{"push", "", "a b\n", ""}, true},
		{[]string{long, "y", long, "z"}, []string{long, "y"}, false},
	} {
		joined := JoinArguments(c.args)
		got, all := SplitArguments(joined)
		if !slices.Equal(got, c.want) || all != c.all || len(joined) > maxArguments {
			t.Errorf("%.20q became %.20q, %t", c.args, got, all)
		}
	}
	if got, all := SplitArguments(UnknownArguments); len(got) > 0 || all {
		t.Errorf("unknown ones became %q, %t", got, all)
	}
}
