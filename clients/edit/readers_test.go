package edit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	burntsushi "github.com/BurntSushi/toml"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// readersEnv names the directory with the parsers of testdata/readers.
const readersEnv = "MCPJAIL_READERS"

// started is a server that a client would start.
type started struct {
	Name  string
	Words []string
	Env   map[string]string
}

// A reading is what a client's parser finds in the table servers of a file.
type reading struct {
	Servers []started
	Error   string
}

// readers are programs that read files with the parsers of clients.
type readers struct {
	sync.Mutex
	programs []reader
}

type reader struct {
	in  io.Writer
	out *bufio.Reader
}

var startReaders = sync.OnceValues(func() (*readers, error) {
	all := &readers{}
	for _, argv := range [][]string{{"node", "testdata/readers/read.mjs", os.Getenv(readersEnv)}, {"python3", "testdata/readers/read.py"}} {
		cmd := exec.Command(argv[0], argv[1:]...) // ends with its input, when the tests end
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		all.programs = append(all.programs, reader{in, bufio.NewReaderSize(out, 1<<20)})
	}
	return all, nil
})

// read returns what each parser finds in a file.
func (r *readers) read(format Format, text []byte) (map[string]reading, error) {
	r.Lock()
	defer r.Unlock()
	line, err := json.Marshal(map[string]string{"format": strings.ToLower(format.String()), "text": string(text)})
	if err != nil {
		return nil, err
	}
	all := map[string]reading{"Go": readInGo(format, text)}
	for _, p := range r.programs {
		if _, err := p.in.Write(append(line, '\n')); err != nil {
			return nil, err
		}
	}
	for _, p := range r.programs {
		answer, err := p.out.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(answer, &all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// readInGo reads a file into a struct, as programs in Go do.
func readInGo(format Format, text []byte) (out reading) {
	var v struct {
		Servers map[string]struct {
			Command string
			Args    []string
			Env     map[string]string
		}
	}
	var err error
	switch format {
	case JSON:
		if text, err = hujson.Standardize(append(bytes.Clone(bytes.TrimPrefix(text, []byte(byteOrderMark))), '\n')); err == nil {
			err = json.Unmarshal(text, &v)
		}
	case TOML:
		_, err = burntsushi.Decode(string(text), &v)
	case YAML:
		err = yaml.Unmarshal(text, &v)
	}
	if err != nil {
		return reading{Error: err.Error()}
	}
	for name, s := range v.Servers {
		if s.Command != "" {
			out.Servers = append(out.Servers, started{name, append([]string{s.Command}, s.Args...), s.Env})
		}
	}
	return out
}

// jailAll puts the wrapper in front of each server of a file that allows it. It returns the file
// and the servers that are wrapped, and the names of the others; nil if the file is left. In a list,
// the name is the number.
func jailAll(format Format, text []byte) (wrapped []byte, inside map[string]Server, outside map[string]bool) {
	table := Table{Path: []string{"servers"}}
	f, err := Parse(format, text)
	if err != nil || f.Ambiguity(table) != nil {
		return nil, nil, nil
	}
	inside, outside = map[string]Server{}, map[string]bool{}
	var changes []Change
	for _, s := range f.Servers(table) {
		if s.Refused != nil || s.Ambiguous != nil {
			outside[s.Path[len(s.Path)-1]] = true
			continue
		}
		if _, err := f.Apply(Change{Server: s, Words: wrapper}); err != nil {
			outside[s.Path[len(s.Path)-1]] = true
			continue
		}
		inside[s.Path[len(s.Path)-1]] = s
		changes = append(changes, Change{Server: s, Words: wrapper})
	}
	wrapped, err = f.Apply(changes...)
	if err != nil {
		return nil, nil, nil
	}
	return wrapped, inside, outside
}

// compareReaders wraps all servers of a file, and returns an error if some client's parser finds
// that a server starts without the wrapper, with other words or with other variables, unless the
// server is said to be left.
func compareReaders(r *readers, format Format, text []byte) error {
	wrapped, inside, outside := jailAll(format, text)
	if wrapped == nil {
		return nil
	}
	all, err := r.read(format, wrapped)
	if err != nil {
		return err
	}
	var errs []error
	for name, found := range all {
		for _, s := range found.Servers {
			if outside[s.Name] || format == YAML && outside[""] && (s.Name == "None" || s.Name == "null") {
				continue
			}
			if why := differs(inside, s); why != "" {
				errs = append(errs, fmt.Errorf("%s: server %q: %s", name, s.Name, why))
			}
		}
	}
	return errors.Join(errs...)
}

func differs(inside map[string]Server, s started) string {
	ours, known := inside[s.Name]
	for _, other := range inside { // YAML 1.1 calls a server "off" false
		known = known || slices.Equal(s.Words, append(slices.Clone(wrapper), other.Words...))
	}
	if _, named := inside[s.Name]; known && !named {
		return ""
	}
	if !known {
		return fmt.Sprintf("starts %q, and mcp-jail does not see it", s.Words)
	}
	if want := append(slices.Clone(wrapper), ours.Words...); !slices.Equal(s.Words, want) {
		return fmt.Sprintf("starts %q, and not %q", s.Words, want)
	}
	found, _, _ := ours.file.Lookup(append(slices.Clone(ours.Path), "env")...)
	env, _ := found.(map[string]any)
	for name, value := range s.Env {
		there, seen := env[name]
		if !seen {
			return fmt.Sprintf("sets %s, which mcp-jail does not see", name)
		}
		if text, isText := there.(string); isText && text != value {
			return fmt.Sprintf("sets %s to %q, and not to %q", name, value, text)
		}
	}
	return ""
}

// hostile are pieces of text with which parsers differ, for all formats.
var hostile = []string{
	"\r", "\u2028", "\u2029", "\u0085", "\f", "\v", "\x00", "\ufeff", "\u00a0", "\n", "\r\n", "\t", " ",
	"//", "/*", "*/", "#", "# x\n", "// x\n", "'", "\"", "\\", "\\u0000", "\\ud800", "\\u2028", "`", ",", ":", "=", "{", "}", "[", "]", "---\n", "...\n", "%YAML 1.1\n",
	"\"__proto__\": {\"env\": {\"X\": \"1\"}},", "\"constructor\": 1,", "\"command\": \"./evil\",", "\"Command\": \"./evil\",", "\"args\": [\"evil\"],", "\"env\": {\"Y\": \"1\"},",
	"\"t\": {\"command\": \"./evil\"},", "t: {command: ./evil}\n", "  t: {command: ./evil}\n", "command: ./evil\n", "    command: ./evil\n", "    env: {X: 1}\n", "<<: {command: ./evil}\n", "    <<: {env: {X: 1}}\n",
	"[servers.t]\ncommand = './evil'\n", "command = './evil'\n", "servers.t.command = './evil'\n", "env.X = '1'\n", "[servers]\n", "[[servers]]\n", "'''", "\"\"\"",
	"&a ", "*a", "!!str ", "!!binary ", "|\n", ">-\n", "? ", "yes", "0x1F", "1_000", "22:22", "3.10", "0o7", "1e3", "~", "null", "-0", ".5", "2001-01-01", "true", "NaN", "Infinity", "+1",
}

// mutate changes a text in up to four places.
func mutate(r *rand.Rand, text []byte) []byte {
	out := bytes.Clone(text)
	for range 1 + r.IntN(3) {
		at := r.IntN(len(out) + 1)
		switch piece := []byte(hostile[r.IntN(len(hostile))]); r.IntN(5) {
		case 0, 1, 2: // insert
			out = slices.Insert(out, at, piece...)
		case 3: // replace
			out = slices.Replace(out, at, min(len(out), at+len(piece)), piece...)
		case 4: // repeat or remove a stretch
			end := min(len(out), at+r.IntN(40))
			if r.IntN(2) == 0 {
				out = slices.Insert(out, end, bytes.Clone(out[at:end])...)
			} else {
				out = slices.Delete(out, at, end)
			}
		}
	}
	return out
}

// readerFiles returns the files that the comparison begins with.
func readerFiles(t testing.TB, format Format) (all [][]byte) {
	for _, w := range slices.Concat(writtenFiles(t, refusals), writtenFiles(t, ambiguities)) {
		if w.format == format {
			all = append(all, []byte(w.text))
		}
	}
	for _, text := range clientFiles(t, format) {
		for _, table := range []string{"mcpServers", "mcp_servers", "extensions", "context_servers"} {
			text = strings.ReplaceAll(text, table, "servers")
		}
		all = append(all, []byte(text))
	}
	return all
}

// TestReaders lets the parsers of clients read files, and mutations of them, of which mcp-jail says
// that all servers are wrapped.
func TestReaders(t *testing.T) {
	testkit.NeedsLong(t)
	const rounds = 60_000
	all := readersOf(t)
	for _, format := range []Format{JSON, TOML, YAML} {
		t.Run(format.String(), func(t *testing.T) {
			files := readerFiles(t, format)
			for _, text := range files {
				testkit.Works(t, text, compareReaders(all, format, text))
			}
			files = slices.DeleteFunc(files, func(text []byte) bool { _, inside, _ := jailAll(format, text); return len(inside) == 0 })
			r := rand.New(rand.NewPCG(1, uint64(format)))
			compared, faults := 0, 0
			for range rounds {
				text := mutate(r, files[r.IntN(len(files))])
				if wrapped, inside, _ := jailAll(format, text); wrapped == nil || len(inside) == 0 {
					continue
				}
				compared++
				if err := compareReaders(all, format, text); err != nil {
					if faults++; faults <= 10 {
						t.Errorf("%q: %v", text, err)
					}
				}
			}
			if compared < rounds/20 {
				t.Errorf("only %d of %d files had a wrapped server", compared, rounds)
			}
			t.Logf("%d files compared", compared)
		})
	}
}

func readersOf(t testing.TB) *readers {
	t.Helper()
	if os.Getenv(readersEnv) == "" {
		testkit.Skip(t, "clients", readersEnv+" does not name a directory with the parsers of testdata/readers; make test-long installs them")
	}
	all := testkit.Get(startReaders())(t)
	return all
}
