package install

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/npm"
)

// maxPackument bounds the metadata of a package.
const maxPackument = 64 << 20

// signals returns what the registry's metadata say against a new version. `npm view` fetches the
// metadata in the whole form, with the publishers, and leaves them in its cache.
func (r *npmRun) signals(ctx context.Context, old, e *lockfile.Entry) ([]npm.Signal, error) {
	w := &watch{installer: r.installer, step: Fetching, pkg: e.Name}
	if _, err := r.runNPM(ctx, r.jail, w, "", "view", "--json", "--", e.Name, "name"); err != nil {
		return nil, err
	}
	registry, err := r.config.registryOf(e.Name)
	if err != nil {
		return nil, err
	}
	text, err := cachedPackument(r.cache(), registry, e.Name)
	if err != nil {
		return nil, fmt.Errorf("the metadata of %s are not in npm's cache: %w", e.Name, err)
	}
	return npm.Signals(text, old.Version, e.Version)
}

// cachedPackument returns the metadata of a package from npm's cache (cacache, version 5 of its
// index), in the whole form if the cache has it.
func cachedPackument(cache string, registry *url.URL, name string) ([]byte, error) {
	address := strings.TrimSuffix(registry.String(), "/") + "/" + strings.ReplaceAll(name, "/", "%2f")
	key := "make-fetch-happen:request-cache:" + address
	sum := sha256.Sum256([]byte(key))
	digits := hex.EncodeToString(sum[:])
	bucket, err := os.Open(filepath.Join(cache, "index-v5", digits[:2], digits[2:4], digits[4:]))
	if err != nil {
		return nil, err
	}
	defer bucket.Close()
	var best []byte
	lines := bufio.NewScanner(io.LimitReader(bucket, 16<<20))
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		e, ok := parseIndex(lines.Bytes())
		if !ok || e.Key != key {
			continue
		}
		content, err := cachedContent(cache, e.Integrity)
		if err != nil {
			continue // npm has replaced it
		}
		best = content
		if !strings.Contains(e.Metadata.ReqHeaders["accept"], "install-v1") {
			break
		}
	}
	if best == nil {
		return nil, os.ErrNotExist
	}
	return best, lines.Err()
}

func cachedContent(cache, integrity string) ([]byte, error) {
	file, err := contentFile(cache, integrity)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPackument))
	got := sha512.Sum512(text)
	if err == nil && integrity != "sha512-"+base64.StdEncoding.EncodeToString(got[:]) {
		err = fmt.Errorf("the file of npm's cache is not that of %s", integrity)
	}
	return text, err
}

func packageName(path string) string {
	return path[strings.LastIndex("/"+path, "/node_modules/")+len("node_modules/"):]
}
