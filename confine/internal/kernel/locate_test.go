package kernel

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestLocate checks where a jail's cgroup goes, for each kind of host.
func TestLocate(t *testing.T) {
	const (
		session = "/user.slice/user-1000.slice/user@1000.service/app.slice/term.scope"
		socket  = "/run/user/1000/systemd/private"
		root    = "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service"
	)
	has := func(dir string) bool { return dir == root }
	for _, c := range []struct {
		name, why string // why "": there is a place
		facts     facts
	}{
		{"no v2", "no cgroup v2", facts{UID: 1000, Manager: socket, Has: has}},
		{"its user manager", "", facts{Own: session, UID: 1000, Manager: socket, Has: has}},
		{"root", "root has no", facts{Own: session, Manager: socket, Has: has}},
		{"no manager", "no systemd manager", facts{Own: session, UID: 1000, Has: has}},
		{"another user's manager", "no systemd manager", facts{Own: session, UID: 1001, Manager: socket, Has: has}},
		{"a session that is not the manager's", "no systemd manager", facts{Own: "/user.slice/user-1000.slice/session-3.scope", UID: 1000, Manager: socket, Has: has}},
		{"a container", "no systemd manager", facts{Own: "/", UID: 1000, Manager: socket, Has: has}},
		{"a cgroup outside the namespace", "no systemd manager", facts{Own: "/../x", UID: 1000, Manager: socket, Has: has}},
		{"without controllers", "no systemd manager", facts{Own: session, UID: 1000, Manager: socket, Has: func(string) bool { return false }}},
	} {
		got := locate(c.facts)
		if c.why == "" && got != (CgroupLocation{Manager: socket, Root: root}) || got.None() != (c.why != "") || !strings.Contains(got.Why, c.why) || (got.Why == "") != (got.Fix == "") {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestPath(t *testing.T) {
	for content, want := range map[string]string{"5:cpu:/x\n0::/user.slice/a.scope\n": "/user.slice/a.scope true", "5:cpu:/x\n": " false"} {
		if p, ok := CgroupPath(content); fmt.Sprint(p, " ", ok) != want {
			t.Errorf("%q: %s, %v", content, p, ok)
		}
	}
}

func TestParseLine(t *testing.T) {
	const events = "low 0\nhigh 3\nmax 7\noom_group_kill 1\noom_kill 5\noom 2\nodd\n"
	for key, want := range map[string]int64{"max": 7, "oom": 2, "oom_kill": 5, "hi": 0, "odd": 0, "": 0} {
		testkit.Equal(t, key, parseLine(events, key), want)
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
	testkit.Equal(t, "body", hex.EncodeToString(body.b), want)
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
		ok + reply(dbusError, 0, 4, "\xff\x00\x00\x00"): errDBus.Error(),
		"": "EOF",
	} {
		err := dbusReply(bytes.NewReader([]byte(said)))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", said, err, want)
		}
	}
}
