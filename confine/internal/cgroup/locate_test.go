package cgroup

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
)

// TestLocate checks where a jail's cgroup goes, for each kind of host.
func TestLocate(t *testing.T) {
	const (
		mount   = "/sys/fs/cgroup"
		session = "/user.slice/user-1000.slice/user@1000.service/app.slice/term.scope"
		socket  = "/run/user/1000/systemd/private"
		root    = mount + "/user.slice/user-1000.slice/user@1000.service"
	)
	for _, c := range []struct {
		name      string
		facts     facts
		delegated []string
		want      Location // without Why and Fix
		why       string
	}{
		{"no v2", facts{}, nil, Location{}, "no cgroup v2"},
		{"v1 has the controllers", facts{Own: "/", Older: true, Mount: mount, Top: "/"}, []string{mount}, Location{}, "cgroup v1"},
		{"not mounted", facts{Own: "/"}, nil, Location{}, "not mounted"},
		{"a cgroup outside of the namespace", facts{Own: "/../x", Mount: mount, Top: "/"}, []string{mount}, Location{}, "not visible"},
		{"a part of the hierarchy that is not ours", facts{Own: "/a", Mount: mount, Top: "/b"}, []string{mount}, Location{}, "not visible"},
		{"the root, without controllers", facts{Own: "/", Mount: mount, Top: "/"}, nil, Location{}, "no cgroup around"},
		{"the root", facts{Own: "/", Mount: mount, Top: "/"}, []string{mount}, Location{Parent: mount}, ""},
		{"a leaf of a container", facts{Own: "/init", Mount: mount, Top: "/"}, []string{mount}, Location{Parent: mount}, ""},
		{"a container's view", facts{Own: "/docker/1/init", Mount: mount, Top: "/docker/1"}, []string{mount}, Location{Parent: mount}, ""},
		{"the nearest", facts{Own: "/a/b/c", Mount: mount, Top: "/"}, []string{mount, mount + "/a"}, Location{Parent: mount + "/a"}, ""},
		{"systemd: the cgroups around belong to it", facts{Own: session, Mount: mount, Top: "/", Booted: true}, []string{mount, mount + "/user.slice/user-1000.slice/user@1000.service/app.slice"}, Location{}, "no systemd manager"},
		{"systemd: its user manager", facts{Own: session, Mount: mount, Top: "/", Booted: true, Manager: socket, Root: root}, nil, Location{Manager: socket, Root: root}, ""},
		{"systemd: a session that is not the manager's", facts{Own: "/user.slice/user-1000.slice/session-3.scope", Mount: mount, Top: "/", Booted: true, Manager: socket, Root: root}, nil, Location{}, "no systemd manager"},
		{"systemd: a cgroup that was delegated and divided", facts{Own: session, Mount: mount, Top: "/", Booted: true, Manager: socket, Root: root}, []string{mount + session}, Location{Parent: mount + session}, ""},
	} {
		c.facts.Delegated = func(dir string) bool { return slices.Contains(c.delegated, dir) }
		got := locate(c.facts)
		why, fix := got.Why, got.Fix
		got.Why, got.Fix = "", ""
		if got != c.want || (why == "") != (c.why == "") || !strings.Contains(why, c.why) || (why == "") != (fix == "") {
			t.Errorf("%s: %+v, because %q, fix %q", c.name, got, why, fix)
		}
	}
}

func TestParseLine(t *testing.T) {
	const events = "low 0\nhigh 3\nmax 7\noom_group_kill 1\noom_kill 5\noom 2\nodd\n"
	for key, want := range map[string]int64{"max": 7, "oom": 2, "oom_kill": 5, "hi": 0, "odd": 0, "": 0} {
		if n := parseLine(events, key); n != want {
			t.Errorf("%q: %d, want %d", key, n, want)
		}
	}
}

// TestDBusMessage: byte for byte; each value is aligned to its size.
func TestDBusMessage(t *testing.T) {
	var body dbusBody
	body.str("x.scope")
	body.properties([]dbusProperty{{"PIDs", []uint32{7}}, {"TasksMax", uint64(64)}, {"CollectMode", "inactive"}})
	want := strings.Join([]string{
		"07000000782e73636f706500", // x.scope
		"51000000",                 // the length of the array
		"04000000504944730002617500000000", "0400000007000000",
		"080000005461736b734d617800017400", "4000000000000000",
		"0b000000436f6c6c6563744d6f64650001730000", "08000000696e61637469766500",
	}, "")
	if got := hex.EncodeToString(body.b); got != want {
		t.Errorf("body %s\nwant %s", got, want)
	}
	message := dbusMessage("/o", "i.f", "M", "s", []byte{1, 2})
	if len(message)%8 != 2 || message[0] != 'l' || message[1] != dbusCall || message[4] != 2 {
		t.Errorf("message %x", message)
	}
}

func TestDBusReply(t *testing.T) {
	const ok = "OK 0123456789abcdef\r\n"
	reply := func(kind byte, fields, body int, text string) string {
		b := []byte{'l', kind, 0, 1, byte(body), 0, 0, 0, 1, 0, 0, 0, byte(fields), 0, 0, 0}
		b = append(b, make([]byte, (fields+7)&^7)...)
		return string(append(b, text...))
	}
	refusal := reply(dbusError, 5, 8, "\x03\x00\x00\x00no!\x00")
	for said, want := range map[string]string{
		ok + reply(dbusReturn, 12, 0, ""):                          "",
		ok + reply(4, 3, 4, "sign") + reply(dbusReturn, 12, 0, ""): "",
		ok + refusal:            "no!",
		"REJECTED EXTERNAL\r\n": "refuses the connection",
		ok:                      "EOF",
		ok + "B" + refusal[1:]:  errDBus.Error(),
		ok + reply(dbusError, 0, 8, "\xff\x00\x00\x00no!\x00"): errDBus.Error(),
		"": "EOF",
	} {
		err := dbusReply(bytes.NewReader([]byte(said)))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", said, err, want)
		}
	}
}
