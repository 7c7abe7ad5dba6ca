package registry

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

//go:embed server/attack.cjs
var attackJS string

//go:embed server/attack.py
var attackPython string

// Attack is what a hostile package tries. A path may begin with "~/" and contain $NAME,
// such as $INIT_CWD, where npm was started. Each attempt is told on stderr and in Report.
type Attack struct {
	Read  []string `json:"read"`  // files to steal
	Write []string `json:"write"` // files to write; missing folders are made
	// Send lists where to send what was read: URLs, to which it is posted, and
	// tcp://HOST:PORT. The path /-/loot of a registry keeps it in the log.
	Send []string `json:"send"`
	// Report is a file for the attempts, beside the attack's own file unless absolute.
	// It is attempts.jsonl otherwise.
	Report string `json:"report"`
}

// Attempt is what came of one attempt.
type Attempt struct {
	Do     string `json:"do"` // read, write, send
	What   string `json:"what"`
	Failed string `json:"failed,omitempty"` // the error's name: "EACCES"; none if it succeeded
	Bytes  int    `json:"bytes,omitempty"`  // that were read
}

// Arm returns the package with a script that tries the attack, usually "postinstall".
// Without a script it only adds the files, of which attack.cjs must be required.
func (a Attack) Arm(p Package, script string) Package {
	p.Files = with(p.Files, map[string]string{"attack.cjs": attackJS, "attack.json": a.plan()})
	if script != "" {
		p.Scripts = with(p.Scripts, map[string]string{script: "node attack.cjs"})
	}
	return p
}

// Python returns Python code that tries the attack, for Wheel.Build. The attempts are
// told on stderr, and in Report if that is absolute.
func (a Attack) Python() string {
	file := "with open(os.path.join(HERE, \"attack.json\"), encoding=\"utf-8\") as f:\n    PLAN = json.load(f)\n"
	return strings.Replace(attackPython, file, fmt.Sprintf("PLAN = json.loads(%q)\n", a.plan()), 1)
}

func (a Attack) plan() string {
	if a.Report == "" {
		a.Report = "attempts.jsonl"
	}
	a.Read, a.Write, a.Send = append([]string{}, a.Read...), append([]string{}, a.Write...), append([]string{}, a.Send...)
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // strings are always JSON
	}
	return string(text)
}

// Attempts returns the attempts that a text tells, such as a report or what npm printed.
func Attempts(text string) []Attempt {
	var list []Attempt
	for line := range strings.Lines(text) {
		var a Attempt
		if at := strings.Index(line, `{"do"`); at >= 0 && json.Unmarshal([]byte(line[at:]), &a) == nil {
			list = append(list, a)
		}
	}
	return list
}

// with returns a map with the entries of another, which win.
func with(m, more map[string]string) map[string]string {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]string{}
	}
	maps.Copy(m, more)
	return m
}
