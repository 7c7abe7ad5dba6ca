package launcher

import (
	"strings"
	"testing"
)

// TestOf: which launcher a line begins with, and what to start instead.
func TestOf(t *testing.T) {
	for line, want := range map[string]struct{ name, instead string }{
		"deno run -A npm:@a/server --stdio":                   {"deno run", "npx -y @a/server,"},
		"deno run --allow-net -c d.json jsr:@a/server@1":      {"deno run", "deno compile -o ~/.local/bin/NAME jsr:@a/server@1,"},
		"deno --quiet run https://h.test/s.ts":                {"deno run", "NAME https://h.test/s.ts,"},
		"/home/u/.deno/bin/deno run -A server.ts":             {"deno run*", "NAME server.ts,"},
		"deno x -A server":                                    {"deno x", "npx -y server,"},
		"deno x npm:server":                                   {"deno x", "npx -y server,"},
		"dx server":                                           {"dx", "npx -y server,"},
		"deno task start":                                     {},
		"deno":                                                {},
		"go run example.test/x/cmd/server@v1.2.3 --flag":      {"go run", "go install example.test/x/cmd/server@v1.2.3, and start ~/go/bin/server"},
		"go run -mod mod example.test/server/v2@latest":       {"go run", "~/go/bin/server"},
		"go -C /srv run ./cmd/x -p run":                       {"go run*", "go build -o NAME ./cmd/x,"},
		"go run .":                                            {"go run*", "go build -o NAME .,"},
		"go test run":                                         {},
		"go build -o run":                                     {},
		"uv run server":                                       {"uv run*", "uv sync, and start .venv/bin/server"},
		"uv --directory /srv/x run server.py":                 {"uv run*", ".venv/bin/python"},
		"uv run --directory /srv/x --extra a mcp run s.py":    {"uv run*", ".venv/bin/mcp"},
		"uv run --with mcp[cli] mcp run s.py":                 {"uv run", "uv add"},
		"uv tool run run":                                     {},
		"uv pip install run":                                  {},
		"poetry run server":                                   {"poetry run*", "poetry env info --path"},
		"pipenv run server":                                   {"pipenv run*", "pipenv --venv"},
		"poetry -C /srv run python -m x":                      {"poetry run*", "/bin/python"},
		"poetry show":                                         {},
		"pdm run -p /srv server":                              {"pdm run*", "pdm install"},
		"pixi run server":                                     {"pixi run*", "pixi install"},
		"nix run github:o/r -- --stdio":                       {"nix run", "nix build -o ~/.local/state/NAME github:o/r,"},
		"nix --extra-experimental-features x run nixpkgs#mcp": {"nix run", "nixpkgs#mcp,"},
		"nix shell nixpkgs#a -c a":                            {"nix shell", "nixpkgs#a,"},
		"nix-shell -p a --run a":                              {"nix-shell", "nix-build"},
		"nix build run":                                       {},
		"dnx Some.Server@1.2 --yes":                           {"dnx", "dotnet tool install --global Some.Server --version 1.2,"},
		"dnx --yes --source x Some.Server":                    {"dnx", "--global Some.Server,"},
		"dotnet tool exec Some.Server":                        {"dotnet tool exec", "--global Some.Server,"},
		"dotnet run --project /srv/x":                         {"dotnet run*", "dotnet publish"},
		"dotnet server.dll run":                               {},
		"cargo run --release --manifest-path /srv/Cargo.toml": {"cargo run*", "target/release"},
		"cargo +nightly run":                                  {"cargo run*", "target/release"},
		"cargo build run":                                     {},
		"node server.js go run":                               {},
		"":                                                    {},
		"dnx":                                                 {},
	} {
		l, ok := Of(strings.Fields(line))
		name := l.Name
		if l.Local {
			name += "*"
		}
		if ok != (want.name != "") || ok && (name != want.name || !strings.Contains(l.Instead, want.instead) || l.Does == "") {
			t.Errorf("%s: %v %+v, want %+v", line, ok, l, want)
		}
		if strings.Contains(l.Instead+l.Does, "--net") {
			t.Errorf("%s: %s", line, l.Instead)
		}
	}
}

func TestIsRegistry(t *testing.T) {
	for host, want := range map[string]bool{"proxy.golang.org": true, "Registry.npmjs.org:443": true, "jsr.io.": true, "api.github.com": false, "": false, "notjsr.io": false} {
		if IsRegistry(host) != want {
			t.Errorf("%s: %v", host, !want)
		}
	}
}
