package intercept

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

const transcript = "requests.txt"

// placeholders are the words of the transcript for values, and for what contains them.
var placeholders = []string{
	"$T", policy.Placeholder("T"), "$U", policy.Placeholder("U"), "$OTHER", policy.Placeholder("OTHER"),
	"$BASIC", basic("user:" + policy.Placeholder("T")), "$VALUE", token, "$BASICVALUE", basic("user:" + token),
	"$GIVEN", granted, "$BASE64", base64.RawURLEncoding.EncodeToString([]byte(granted)),
}

const granted = "gr4nted-V4lue/of+a&variable" // the value of a variable of the jail

func basic(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }

// rulesOf parses the words of a "rules" line. Each makes a rule for the host, but "+" adds to the rule before.
func rulesOf(t *testing.T, line string) (rules []policy.NetRule, block bool) {
	t.Helper()
	for _, word := range strings.Fields(line) {
		key, value, _ := strings.Cut(word, "=")
		key, more := strings.CutPrefix(key, "+")
		if !more && key != "block" {
			rules = append(rules, policy.NetRule{Host: host, Allow: true, Where: fmt.Sprintf("mcp-jail.toml:%d", len(rules)+1)})
		}
		switch r := &rules[max(0, len(rules)-1)]; key {
		case "path":
			r.PathPrefix = value
		case "deny":
			r.PathPrefix, r.Allow = value, false
		case "methods":
			r.Methods = strings.Split(value, ",")
		case "host":
			r.Host = value
		case "secret":
			name, fields, named := strings.Cut(value, "@")
			s := policy.Secret{Env: name}
			if named {
				s.Header = strings.Split(fields, ",")
			}
			r.Secrets = append(r.Secrets, s)
		case "block":
			block = true
		default:
			t.Fatalf("%s: no such word", word)
		}
	}
	return rules, block
}

// A sent is a request of the transcript. Its lines are a request line without version, header fields, and "body" and
// "trailer" lines; or quoted text that is sent over HTTP/1.1 as it is.
type sent struct {
	raw             string
	line            string
	fields, trailer []string
	body            string
}

func parseSent(t *testing.T, lines []string) (s sent) {
	t.Helper()
	for n, line := range lines {
		text, isBody := strings.CutPrefix(line, "body ")
		field, isTrailer := strings.CutPrefix(line, "trailer ")
		switch {
		case strings.HasPrefix(line, `"`):
			text := testkit.Get(strconv.Unquote(line))(t)
			s.raw += text
		case n == 0:
			s.line = line
		case isBody:
			s.body = text
		case isTrailer:
			s.trailer = append(s.trailer, field)
		default:
			s.fields = append(s.fields, line)
		}
	}
	return s
}

// http1 returns the bytes of a request in HTTP/1.1.
func (s sent) http1() string {
	if s.raw != "" {
		return s.raw
	}
	b := s.line + " HTTP/1.1\r\n"
	if !slices.ContainsFunc(s.fields, func(f string) bool { return strings.HasPrefix(f, "Host:") }) {
		b += "Host: " + host + "\r\n"
	}
	for _, f := range s.fields {
		b += f + "\r\n"
	}
	b += "Connection: close\r\n"
	switch {
	case s.trailer != nil:
		for _, f := range s.trailer {
			b += "Trailer: " + f[:strings.IndexByte(f, ':')] + "\r\n"
		}
		return b + fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n%s\r\n\r\n", len(s.body), s.body, strings.Join(s.trailer, "\r\n"))
	case s.body != "":
		b += fmt.Sprintf("Content-Length: %d\r\n", len(s.body))
	}
	return b + "\r\n" + s.body
}

// overHTTP2 sends a request, and returns the status and body of its response.
func (s sent) overHTTP2(t *testing.T, c *http.Client) string {
	t.Helper()
	method, target, _ := strings.Cut(s.line, " ")
	r := testkit.Get(http.NewRequest(method, "https://"+host, strings.NewReader(s.body)))(t)
	add := func(to http.Header, field string) {
		name, value, _ := strings.Cut(field, ":")
		to[name] = append(to[name], strings.TrimPrefix(value, " "))
	}
	for _, f := range s.fields {
		if value, ok := strings.CutPrefix(f, "Host: "); ok {
			r.Host = value
			continue
		}
		add(r.Header, f)
	}
	r.URL.Opaque = "//" + r.Host + target
	if r.Header["User-Agent"] == nil {
		r.Header.Set("User-Agent", "") // none
	}
	if s.trailer != nil {
		r.ContentLength, r.Trailer = -1, http.Header{}
		for _, f := range s.trailer {
			add(r.Trailer, f)
		}
	}
	res, err := c.Do(r)
	if err != nil {
		return "none"
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return fmt.Sprintf("%d %s", res.StatusCode, body)
}

// observer is an upstream that writes down what it gets.
type observer struct{ seen []string }

func (o *observer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	text := "saw " + r.Method + " " + r.RequestURI
	if r.Host != host {
		text += " of " + r.Host
	}
	for _, part := range []struct {
		mark   string
		fields http.Header
	}{{"  ", r.Header}, {"  behind it ", r.Trailer}} {
		for _, name := range sortedKeys(part.fields) {
			if name != "Content-Length" {
				text += part.mark + name + ": " + strings.Join(part.fields[name], " | ")
			}
		}
	}
	if len(body) > 0 {
		text += fmt.Sprintf("  body %q", body)
	}
	if err != nil && !strings.Contains(text, granted) {
		return // it was cut short, and perhaps it is not seen at all
	}
	o.seen = append(o.seen, text)
	io.WriteString(w, "served")
}

func sortedKeys(h http.Header) (keys []string) {
	for name := range h {
		keys = append(keys, name)
	}
	slices.Sort(keys)
	return keys
}

// outcome sends a request in one way and returns what came of it: the status, what the upstream saw, and what was
// recorded.
func (s sent) outcome(t *testing.T, w *world, o *observer, http2 bool) string {
	t.Helper()
	o.seen = nil
	w.leaked = nil
	var answer string
	if http2 {
		c := w.client(t, true)
		c.Transport.(*http.Transport).DisableCompression = true
		answer = s.overHTTP2(t, c)
	} else {
		answer = answersIn(w.raw(t, s.http1()))
	}
	status, body, _ := strings.Cut(answer, " ")
	parts := append([]string{status}, o.seen...)
	for _, d := range w.denied() {
		parts = append(parts, string(d.Reason)+": "+d.Detail)
		if _, text, _ := strings.Cut(d.Detail, ": "); !strings.Contains(body, text) {
			t.Errorf("%v: the jail was not told of %q: %s", s, d.Detail, body)
		}
	}
	for _, l := range w.leaked {
		parts = append(parts, fmt.Sprintf("told of %s in %s to %s (%s)", l.Found.Name, l.Place, l.Host, l.Found.Form))
	}
	for _, value := range []string{token, granted, "second"} {
		if strings.Contains(body, value) {
			t.Errorf("%v: the answer has the value of a secret: %s", s, body)
		}
	}
	return strings.Join(parts, "\n\t")
}

// answersIn returns the status codes of the responses in a text, and their bodies.
func answersIn(text string) string {
	var status, bodies []string
	b := bufio.NewReader(strings.NewReader(text))
	for {
		res, err := http.ReadResponse(b, nil)
		if err != nil {
			break
		}
		body, _ := io.ReadAll(res.Body)
		status, bodies = append(status, strconv.Itoa(res.StatusCode)), append(bodies, string(body))
	}
	return cmp.Or(strings.Join(status, ","), "none") + " " + strings.Join(bodies, "\n")
}

// TestTranscript sends each request of the transcript under its rules to an upstream by HTTP/1.1 with and without TLS,
// and by HTTP/2. What comes of it is what the transcript says.
func TestTranscript(t *testing.T) {
	text := testkit.Get(os.ReadFile("testdata/" + transcript))(t)
	text = bytes.TrimSuffix(text, []byte("\n"))
	var got []string
	var worlds map[string]*world
	observers := map[string]*observer{}
	for _, stanza := range strings.Split(string(text), "\n\n") {
		if line, ok := strings.CutPrefix(stanza, "rules "); ok {
			worlds = worldsOf(t, line, observers)
		}
		if !strings.HasPrefix(stanza, "> ") {
			got = append(got, stanza)
			continue
		}
		var input []string
		for line := range strings.SplitSeq(stanza, "\n") {
			if line, ok := strings.CutPrefix(line, "> "); ok {
				input = append(input, line)
			}
		}
		request := parseSent(t, strings.Split(strings.NewReplacer(placeholders...).Replace(strings.Join(input, "\n")), "\n"))
		got = append(got, "> "+strings.Join(input, "\n> ")+request.outcomes(t, worlds, observers))
	}
	testkit.Golden(t, transcript, strings.Join(got, "\n\n")+"\n")
}

// outcomes returns the outcomes of a request by the ways that have them.
func (s sent) outcomes(t *testing.T, worlds map[string]*world, observers map[string]*observer) (text string) {
	ways := map[string]string{}
	var order []string
	for _, kind := range []string{"http", "https", "h2"} {
		if kind == "h2" && s.raw != "" {
			continue
		}
		result := s.outcome(t, worlds[kind], observers[kind], kind == "h2")
		for n := 0; n < len(placeholders); n += 2 {
			result = strings.ReplaceAll(result, placeholders[n+1], placeholders[n])
		}
		if _, known := ways[result]; !known {
			order = append(order, result)
		}
		ways[result] += kind + " "
	}
	for _, result := range order {
		text += "\n" + ways[result] + result
	}
	return text
}

// worldsOf returns a world for each way to reach an upstream.
func worldsOf(t *testing.T, line string, observers map[string]*observer) map[string]*world {
	t.Helper()
	rules, block := rulesOf(t, line)
	worlds := map[string]*world{}
	for _, kind := range []string{"http", "https", "h2"} {
		o := &observer{}
		observers[kind] = o
		worlds[kind] = newWorld(t, serve(t, kind, o.ServeHTTP), Options{Rules: rules, Secrets: map[string]string{"T": token, "U": "second", "OTHER": "not for this host"}})
		worlds[kind].setLeaks(egress.Leaks{Secrets: []leak.Secret{{Name: "GIVEN", Value: granted}}, Block: block})
	}
	return worlds
}
