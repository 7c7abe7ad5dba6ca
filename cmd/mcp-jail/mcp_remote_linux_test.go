package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// loginHost is a server elsewhere: MCP over HTTP, and the OAuth server whose token it wants. It counts the
// logins.
type loginHost struct {
	*httptest.Server
	logins atomic.Int32
}

func newLoginHost(t *testing.T) *loginHost {
	t.Helper()
	h := &loginHost{}
	mux := http.NewServeMux()
	h.Server = httptest.NewServer(mux)
	t.Cleanup(h.Close)
	answer := func(w http.ResponseWriter, status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("/.well-known/oauth-protected-resource/", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"resource": h.URL + "/mcp", "authorization_servers": []string{h.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{
			"issuer": h.URL, "authorization_endpoint": h.URL + "/authorize", "token_endpoint": h.URL + "/token", "registration_endpoint": h.URL + "/register",
			"response_types_supported": []string{"code"}, "grant_types_supported": []string{"authorization_code", "refresh_token"},
			"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		client := map[string]any{}
		json.NewDecoder(r.Body).Decode(&client)
		client["client_id"] = "client"
		answer(w, http.StatusCreated, client)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		h.logins.Add(1)
		q := r.URL.Query()
		http.Redirect(w, r, q.Get("redirect_uri")+"?code=code&state="+url.QueryEscape(q.Get("state")), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"access_token": "token", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "again"})
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ ProtocolVersion string }
		}
		switch {
		case r.Header.Get("Authorization") != "Bearer token":
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+h.URL+`/.well-known/oauth-protected-resource/mcp"`)
			answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_token"})
		case r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case m.Method == "initialize":
			answer(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{
				"protocolVersion": m.Params.ProtocolVersion, "capabilities": map[string]any{}, "serverInfo": map[string]any{"name": "elsewhere", "version": "1"},
			}})
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
	return h
}

// TestMCPRemote logs the real mcp-remote in through the browser, with the line that wrap writes. Its next
// start needs no login. A login that it got without a jail is copied by wrap, and then its
// first start needs none.
func TestMCPRemote(t *testing.T) {
	testkit.NeedsLong(t)
	need(t, "jail", "node", "presets")
	t.Parallel()
	script := filepath.Join(os.Getenv("MCPJAIL_PRESETS"), "node_modules", "mcp-remote", "dist", "proxy.js")
	h := newLoginHost(t)
	line := []string{"--", "node", script, h.URL + "/mcp"}
	authorize := regexp.MustCompile(regexp.QuoteMeta(h.URL) + `/authorize\S*`)
	start := func(t *testing.T, s *loginSession, login bool) {
		t.Helper()
		defer s.end()
		if login {
			said := s.until(t, "Waiting for authorization")
			r, err := http.Get(authorize.FindString(said)) // as a browser: it follows the redirect
			must(t, err)
			r.Body.Close()
		}
		if !s.out.Scan() || !strings.Contains(s.out.Text(), `"elsewhere"`) {
			t.Fatalf("answered %q", s.out.Text())
		}
	}
	w := newWorld(t)
	w.plant(t, w.home, map[string]string{"project/x": ""})
	w.work = filepath.Join(w.home, "project")
	for i, login := range []bool{true, false} {
		start(t, startLogin(t, w.jail(append([]string{"--name", "far", "--preset", "mcp-remote"}, line...)...)), login)
		if n := h.logins.Load(); n != 1 {
			t.Fatalf("start %d: %d logins", i, n)
		}
	}
	// Without a jail.
	cmd := w.jail(line...)
	plain := *cmd
	plain.Path, plain.Args = "/usr/bin/env", append([]string{"env"}, line[1:]...)
	start(t, startLogin(t, &plain), true)
	entry, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"other": map[string]any{
		"command": cmd.Path, "args": append([]string{"run", "--name", "other", "--preset", "mcp-remote"}, line...),
	}}})
	must(t, err)
	w.plant(t, w.home, map[string]string{".cursor/mcp.json": string(entry)})
	if out, err := w.mcpJail("wrap", "--client", "cursor", "--yes").CombinedOutput(); err != nil || !strings.Contains(string(out), "copied: ~/.mcp-auth/") {
		t.Fatalf("%v: %s", err, out)
	}
	start(t, startLogin(t, w.jail(append([]string{"--name", "other", "--preset", "mcp-remote"}, line...)...)), false)
	if n := h.logins.Load(); n != 2 {
		t.Errorf("%d logins, want 2", n)
	}
}
