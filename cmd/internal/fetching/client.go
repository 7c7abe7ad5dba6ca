package fetching

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"
)

// clientPeek has the facts of the first message of the client. It leaves the message in the
// input.
type clientPeek struct {
	in    io.Reader
	name  string          // of the client
	newer bool            // the client waits longer than its older versions
	token json.RawMessage // for progress; nil if it wants none
	since time.Time       // when its first message was seen
}

func newClientPeek(in io.Reader) *clientPeek { return &clientPeek{in: in} }

func (p *clientPeek) look() {
	if !p.since.IsZero() {
		return
	}
	line, _, whole := strings.Cut(string(peekInput(p.in)), "\n")
	if !whole {
		return
	}
	p.since = time.Now()
	p.hear(line)
}

func (p *clientPeek) hear(line string) {
	var first struct {
		Params struct {
			ClientInfo struct {
				Name    string `json:"name"`
				Version string `json:"version"`
			} `json:"clientInfo"`
			Meta struct {
				ProgressToken json.RawMessage `json:"progressToken"`
			} `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal([]byte(line), &first) == nil {
		info := first.Params.ClientInfo
		p.name, p.token = strings.ToLower(info.Name), first.Params.Meta.ProgressToken
		p.newer = strings.Contains(p.name, "codex") && codexWaitsLonger(info.Version)
	}
}

// Most clients wait for 10 to 600 seconds for an answer. mcp-jail must answer before that.
const (
	patienceUsual = 24 * time.Second // 30 s: Claude Code, OpenCode, newer Codex
	patienceShort = 8 * time.Second  // 10 s: older Codex, Crush, qwen mcp list
	patienceOwn   = time.Hour        // mcp-jail call and learn, which have a time limit of their own
)

func (p *clientPeek) impatient() bool {
	return !p.since.IsZero() && time.Since(p.since) > p.patience()
}

func (p *clientPeek) patience() time.Duration {
	if strings.HasPrefix(p.name, "mcp-jail ") {
		return patienceOwn
	}
	for _, name := range []string{"codex", "crush", "qwen"} {
		if strings.Contains(p.name, name) && !p.newer {
			return patienceShort
		}
	}
	return patienceUsual
}

// codexWaitsLonger reports whether a version of Codex is known to wait for 30 s. Older ones waited
// for 10 s.
func codexWaitsLonger(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(minor)
	return err == nil && (n >= 169 || major != "0")
}
