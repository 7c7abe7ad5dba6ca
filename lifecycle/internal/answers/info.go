package answers

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// ClientInfo is the client's description of itself. A legacy worker gets it in a handshake; modern
// requests carry it.
type ClientInfo struct {
	era  mcpproxy.Era
	key  []byte // the parts of the description that a server's answers may depend on
	line []byte // legacy: the client's initialize; modern: our server/discover
}

// Matches reports whether two descriptions, each of which may be nil, are those of the same client.
func (i *ClientInfo) Matches(other *ClientInfo) bool {
	return i == other || i != nil && other != nil && i.era == other.era && bytes.Equal(i.key, other.key)
}

// Era returns the era of the description; that of none is Legacy.
func (i *ClientInfo) Era() mcpproxy.Era {
	if i == nil || i.era != mcpproxy.Modern {
		return mcpproxy.Legacy
	}
	return mcpproxy.Modern
}

// Key returns the parts of the description that a server's answers may depend on.
func (i *ClientInfo) Key() []byte { return i.key }

// Greeting returns the first message for a process: the client's initialize, or our server/discover.
func (i *ClientInfo) Greeting() *mcpproxy.Frame { return mcpproxy.Parse(i.line) }

// eraName returns the name of the era.
func (i *ClientInfo) eraName() string {
	if i.Era() == mcpproxy.Modern {
		return "modern"
	}
	return "legacy"
}

// RequestFor returns one of our requests in the client's name. name is a method, and after a space its params.
func (i *ClientInfo) RequestFor(name string) *mcpproxy.Frame {
	method, params, _ := bytes.Cut([]byte(name), []byte(" "))
	if params == nil {
		params = []byte("{}")
	}
	if i.Era() == mcpproxy.Modern {
		meta := session.JSONObject("_meta", i.key)
		if len(params) > len("{}") {
			meta = append(append(meta[:len(meta)-1], ','), params[1:]...)
		}
		params = meta
	}
	return mcpproxy.Parse(mcpproxy.NewRequest([]byte("0"), string(method), params))
}

// Capabilities returns the capabilities of the client as it has sent them, or nil.
func (i *ClientInfo) Capabilities() (found []byte) {
	if i == nil {
		return nil
	}
	session.EachMember(i.key, func(name string, _ int64, value []byte) {
		if name == "capabilities" || name == "io.modelcontextprotocol/clientCapabilities" {
			found = value
		}
	})
	return found
}

// KnownClient are the descriptions that the client has given of itself.
type KnownClient struct {
	mu     sync.Mutex
	latest *ClientInfo // the one of the two below that came last
	legacy *ClientInfo // of the client's initialize; nil before it
	modern *ClientInfo // of the client's modern requests; nil before them
}

// RecordInitialize keeps the client's initialize, to replay it to each worker. It returns
// nil if the frame is not held in memory.
func (i *KnownClient) RecordInitialize(f *mcpproxy.Frame, e *mcpproxy.Envelope) *ClientInfo {
	line, whole := f.AppendTo(nil)
	if !whole {
		return nil
	}
	info := &ClientInfo{era: mcpproxy.Legacy, line: line, key: session.FilterMembers(f.Slice(e.Params), func(name string) bool { return name != "_meta" })}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.legacy.Matches(info) {
		info = i.legacy
	}
	i.legacy, i.latest = info, info
	return info
}

// RecordModern keeps what a modern request says of the client.
func (i *KnownClient) RecordModern(f *mcpproxy.Frame, e *mcpproxy.Envelope) *ClientInfo {
	const prefix = "io.modelcontextprotocol/"
	key := session.FilterMembers(f.Slice(e.ParamsMeta), func(name string) bool {
		return name == mcpproxy.VersionKey || name == prefix+"clientCapabilities" || name == prefix+"clientInfo"
	})
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.modern != nil && bytes.Equal(i.modern.key, key) {
		i.latest = i.modern
		return i.modern
	}
	line := mcpproxy.NewRequest([]byte("0"), "server/discover", session.JSONObject("_meta", key))
	i.modern = &ClientInfo{era: mcpproxy.Modern, key: key, line: line}
	i.latest = i.modern
	return i.modern
}

// Latest returns the description that came last, or nil.
func (i *KnownClient) Latest() *ClientInfo {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.latest
}

// For returns the last description in an era, or nil.
func (i *KnownClient) For(era mcpproxy.Era) *ClientInfo {
	i.mu.Lock()
	defer i.mu.Unlock()
	if era == mcpproxy.Modern {
		return i.modern
	}
	return i.legacy
}

// Current returns the description that a request means which gives none, and its era.
func (i *KnownClient) Current() (mcpproxy.Era, *ClientInfo) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.legacy == nil && i.modern != nil {
		return mcpproxy.Modern, i.modern
	}
	return mcpproxy.Legacy, i.legacy
}

// Bounds of the directory. A server has a file for each of its clients, their versions and its working
// directories.
const (
	maxFile  = 8 << 20 // bytes
	maxFiles = 256
	maxTotal = 64 << 20 // bytes
	suffix   = ".json"
)

// content is what a file holds. Answers are base64 in it, since JSON inside JSON would not keep their bytes.
type content struct {
	Key     string          `json:"key"` // as in the file's name
	Answers map[string]kept `json:"answers"`
}

// keyFor returns the name of the file with the answers to a client, or "" if none is kept between sessions. It
// digests the version of mcp-jail and the policy, the server and its words among it, the era, and what the
// client says of itself. What else changes an answer, as an update of the program does, is found by asking the
// server again.
func (o *Options) keyFor(info *ClientInfo) string {
	if o.Dir == "" || runtime.GOOS == "windows" { // there the jail does not keep a server from writing in it
		return ""
	}
	sum := sha256.New()
	for _, field := range []string{"answers 1", o.Version, o.Profile().Key(), info.eraName(), string(info.Key())} {
		// With a length before each field, no two lists of fields have the same bytes.
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(field))))
		sum.Write([]byte(field))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// load returns the answers that a file holds, and none if it cannot be read, belongs to others or is damaged.
func load(dir, key string) map[string]kept {
	text, err := private.ReadFile(filepath.Dir(dir), filepath.Join(filepath.Base(dir), key+suffix), maxFile)
	if err != nil {
		return nil
	}
	var c content
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if d.Decode(&c) != nil || c.Key != key {
		return nil
	}
	for name, k := range c.Answers {
		if !isKeepable(name) || !k.isValid() {
			return nil
		}
		k.earlier = true
		c.Answers[name] = k
	}
	return c.Answers
}

// save replaces a file by a rename, so that a reader sees the old or the new one. It does not wait for the disk:
// a file that a power cut has torn is damaged.
func save(dir, key string, answers map[string]kept) error {
	text, err := json.Marshal(content{key, answers})
	if err != nil {
		return err
	}
	if len(text) > maxFile {
		return errors.New("they are too large")
	}
	d, err := private.Make(filepath.Dir(dir), filepath.Base(dir))
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Replace(key+suffix, text, private.How{}); err != nil {
		return err
	}
	prune(d, key+suffix)
	return nil
}

// prune removes files that no longer hold a fresh answer, and the oldest of too many, but not the one just
// written.
func prune(d *private.Dir, written string) {
	type file struct {
		name string
		size int64
		age  time.Duration
	}
	var files []file
	names, err := d.Names()
	if err != nil {
		return // the next save tries again
	}
	for _, n := range names {
		info, err := d.Lstat(n.Name())
		if err == nil && info.Mode().IsRegular() && strings.HasSuffix(n.Name(), suffix) && n.Name() != written {
			files = append(files, file{n.Name(), info.Size(), time.Since(info.ModTime())})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.age, b.age) })
	count, total := 1, int64(maxFile)
	for _, f := range files {
		count++
		total += f.size
		// A file from the future was written while the clock was wrong.
		if f.age > maxAge || f.age < -time.Hour || count > maxFiles || total > maxTotal {
			_ = d.Remove(f.name)
		}
	}
}
