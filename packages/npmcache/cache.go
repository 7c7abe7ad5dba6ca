// Package npmcache reads and writes npm's cache: cacache, version 5 of its index.
//
// Content lies under its own hash, and is checked when it is read. The index says which content the
// answer to a request is.
package npmcache

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// MaxPackument bounds the metadata of a package.
const MaxPackument = 64 << 20

// Entry is a line of the index.
type Entry struct {
	Key       string   `json:"key"`
	Integrity string   `json:"integrity"`
	Time      int64    `json:"time"`
	Size      int64    `json:"size"`
	Metadata  Metadata `json:"metadata"`
}

// Metadata is what the index says of a request and its answer.
type Metadata struct {
	Time       int64             `json:"time"`
	URL        string            `json:"url"`
	ReqHeaders map[string]string `json:"reqHeaders"`
	ResHeaders map[string]string `json:"resHeaders"`
	Options    struct {
		Compress bool `json:"compress"`
	} `json:"options"`
}

// PackumentURL returns the address of the metadata of a package.
func PackumentURL(registry *url.URL, name string) string {
	return strings.TrimSuffix(registry.String(), "/") + "/" + strings.ReplaceAll(name, "/", "%2f")
}

// ParseIndex returns the entry of a line: a checksum, a tab and JSON. npm verifies the checksum.
func ParseIndex(line []byte) (e Entry, ok bool) {
	_, text, ok := bytes.Cut(line, []byte("\t"))
	return e, ok && json.Unmarshal(text, &e) == nil
}

// ContentFile returns the file that has the content of an integrity.
func ContentFile(cache, integrity string) (string, error) {
	kind, text, _ := strings.Cut(integrity, "-")
	sum, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(sum) < 3 || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz0123456789") != "" || kind == "" {
		return "", errors.New("this is no integrity: " + integrity)
	}
	digits := hex.EncodeToString(sum)
	return filepath.Join(cache, "content-v2", kind, digits[:2], digits[2:4], digits[4:]), nil
}

// Check reads a content to its end, and fails if that is not of an integrity of SHA-512 or has more
// than most bytes.
func Check(content io.Reader, integrity string, most int64) error {
	sum := sha512.New()
	n, err := io.Copy(sum, io.LimitReader(content, most+1))
	if err == nil && (n > most || integrity != named(sum.Sum(nil))) {
		err = fmt.Errorf("the content is not that of %s", integrity)
	}
	return err
}

func named(sum []byte) string { return "sha512-" + base64.StdEncoding.EncodeToString(sum) }

// Open returns the content of an integrity, which the caller must check.
func Open(cache, integrity string) (*os.File, error) {
	file, err := ContentFile(cache, integrity)
	if err != nil {
		return nil, err
	}
	return os.Open(file)
}

func read(cache, integrity string, most int64) ([]byte, error) {
	f, err := Open(cache, integrity)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var text bytes.Buffer
	err = Check(io.TeeReader(f, &text), integrity, most)
	return text.Bytes(), err
}

// requestKey begins the keys of the answers to requests.
const requestKey = "make-fetch-happen:request-cache:"

func bucket(cache, key string) string {
	sum := sha256.Sum256([]byte(key))
	digits := hex.EncodeToString(sum[:])
	return filepath.Join(cache, "index-v5", digits[:2], digits[2:4], digits[4:])
}

// Packument returns the metadata of a package, in the whole form if the cache has it.
func Packument(cache, address string) ([]byte, error) {
	key := requestKey + address
	file, err := os.Open(bucket(cache, key))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var best []byte
	lines := bufio.NewScanner(io.LimitReader(file, 16<<20))
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		e, ok := ParseIndex(lines.Bytes())
		if !ok || e.Key != key {
			continue
		}
		content, err := read(cache, e.Integrity, MaxPackument)
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

// Keep keeps the content of an integrity of SHA-512, if it has no more than most bytes. It is there as
// a whole or not at all.
func Keep(cache, integrity string, content io.Reader, most int64) error {
	file, err := ContentFile(cache, integrity)
	if err != nil {
		return err
	}
	tmp := filepath.Join(cache, "tmp")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.MkdirAll(tmp, 0o700)); err != nil {
		return err
	}
	f, err := os.CreateTemp(tmp, "")
	if err != nil {
		return err
	}
	err = Check(io.TeeReader(content, f), integrity, most)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// AddAnswer keeps the answer to a request: its body, and the headers of both that npm compares.
func AddAnswer(cache, address string, body []byte, request, response map[string]string) error {
	sum := sha512.Sum512(body)
	e := Entry{Key: requestKey + address, Integrity: named(sum[:]), Time: time.Now().UnixMilli(), Size: int64(len(body))}
	e.Metadata = Metadata{Time: e.Time, URL: address, ReqHeaders: request, ResHeaders: response}
	e.Metadata.Options.Compress = true
	if err := Keep(cache, e.Integrity, bytes.NewReader(body), int64(len(body))); err != nil {
		return err
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	file := bucket(cache, e.Key)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	line := sha1.Sum(text)
	_, err = fmt.Fprintf(f, "\n%x\t%s", line, text)
	return errors.Join(err, f.Close())
}
