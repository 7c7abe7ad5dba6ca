package naming

import (
	"strings"
	"testing"
)

// TestIdentity tests which command lines are the same server: those that differ in
// arguments that cannot be code.
func TestIdentity(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"/opt/x/server", "/opt/x/server stdio --toolsets all", true},
		{"/opt/x/server", "/opt/y/server", false},
		{"server", "./server", false},
		{"node /opt/s.js", "node /opt/s.js --x", true},
		{"node /opt/s.js", "node /opt/t.js", false},
		{"node /opt/s.js", "node -r /tmp/evil.js /opt/s.js", false},
		{"node --env-file /opt/.env /opt/s.js", "node --env-file /opt/.env /tmp/evil.js", false},
		{"node -e 1 x", "node -e 2 x", false},
		{"python3 -m a", "python3 -m b", false},
		{"python3 -c 1", "python3 -c 2", false},
		{"sh -c a", "sh -c b", false},
		{"sh /opt/run a", "sh /opt/run b", true},
		{"busybox sh /opt/run", "busybox sh /tmp/evil", false},
		{"java -jar /opt/a.jar x", "java -jar /opt/a.jar y", true},
		{"java -jar /opt/a.jar", "java -jar /opt/b.jar", false},
		{"java -jar /opt/a.jar", "java -cp /tmp Evil", false},
		{"deno run /opt/a.ts", "deno run /tmp/evil.ts", false},
		{"uv run server.py", "uv run evil.py", false},
		{"env A=1 server", "env A=1 evil", false},
		{"/usr/bin/docker run a", "/usr/bin/docker run b", false},
		{"python3 server.py", "python3 server.py", true},
		{"python3 server.py --x", "python3 /w/server.py", true},
		{"node ./dist/s.js", "node dist/s.js", true},
		{"./server", "/w/server stdio", true},
		{"./venv/bin/python s.py", "/w/venv/bin/python /w/s.py", true},
		{"node ../s.js", "node /s.js", false},
		{"node ~/s.js", "node /w/~/s.js", false},
		{"node s.js", "node -r /tmp/evil.js /w/s.js", false},
		{"./env s", "/w/env /w/s", false},
		{"./node --import=x.js", "/w/node /w/--import=x.js", false},
		{"./venv/bin/python -mserver", "/w/venv/bin/python /w/-mserver", false},
		{"sh -c ./s", "sh -c /w/s", false},
		{"sh -c a", "sh -c /w/a", false},
		{"deno run a.ts", "deno run /w/a.ts", false},
		{"python3 server.py", "python3 -u -B server.py --x", true},
		{"python3 -m a", "python3 -u -m a", true},
		{"python3 -m a", "python3 -u -m b", false},
		{"python3 -m a", "python3 -P -m a", false},
		{"python3 -c 1", "python3 -u -c 2", false},
		{"python3 /opt/s.py", "python3 -u /opt/t.py", false},
		{"python3 /opt/s.py", "python3 -u -X pycache_prefix=/tmp /opt/s.py", false},
		{"node /opt/s.js", "node --no-warnings --enable-source-maps /opt/s.js", true},
		{"node /opt/s.js", "node --no-warnings -r /tmp/evil.js /opt/s.js", false},
		{"sh /opt/run", "sh -e /opt/run", false},
		{"python3", "python3 -u", false},
		{"", "x", false},
	} {
		a, b := Identity(strings.Fields(c.a), "/w"), Identity(strings.Fields(c.b), "/w")
		if (a == b) != c.same {
			t.Errorf("%s and %s: %q, %q", c.a, c.b, a, b)
		}
	}
}

// TestNeedsDir tests which lines are another server in another directory.
func TestNeedsDir(t *testing.T) {
	for _, list := range []struct {
		lines string
		needs bool
	}{
		{`
./server
bin/server x
python3 server.py
./python /opt/s.py
python3 -m server
python3 -mserver
python3.12 -u -m server
python3 -c import_server
python3 -m server -P
python3 -P -m
python3 -u server.py
python3 -X dev s.py
python3 ~/s.py
python3
node ./x.js
node --import=./x.js /opt/s.js
node --import ./x.js /opt/s.js
node --import=x /opt/s.js
node -r ./x /opt/s.js
node -r x /opt/s.js
node --unknown /opt/s.js
node -e require("./x")
node run /opt/s.js
tsx ./x.ts
tsx watch /opt/x.ts
ts-node x.ts
deno run x.ts
deno run --allow-all x.ts
deno run --config=deno.json /opt/x.ts
deno task start
bun x.ts
bun run start
bun run x.ts
bun run /opt/x.ts
bun --config=bunfig.toml /opt/x.ts
deno run -A npm:@x/server
env PATH=bin:/usr/bin server
env PATH=/usr/bin: server
env PYTHONPATH=. python3 /opt/server.py
env NODE_OPTIONS=--import=./x node /opt/x.js
uv run --project=/opt/x server
uv run --project /opt/x server.py
fastmcp run server.py
uvicorn server:app
ruby -I lib /opt/s.rb
ruby -Ilib /opt/s.rb
ruby -r./x /opt/s.rb
perl -Ilib /opt/s.pl
php s.php
java -cp . Server
java -jar s.jar
dotnet run
sh run.sh
sh -c ./run
bash -lc server
busybox sh /opt/run
env A=1 node x.js
env -S server
env
uv run server.py
uv run /opt/server.py
uv --directory here run server.py
uv run server.py --directory /opt
uv run --with mcp server.py --project /opt
npm run start
npx ./package
npx --package ./x y
poetry run server
make serve
cargo run
timeout 9 server`, true},
		{`
server
server ./data
/opt/server --plugin ./x
~/bin/server
python3 /opt/server.py ./data
python3 -u /opt/server.py
python3 -X dev -B /opt/server.py -m x
/opt/venv/bin/python /opt/server.py
python3 -P -m server
/opt/venv/bin/python -u -I -m server x
node /opt/s.js ./x
node --import=/opt/x.js /opt/s.js
node --import /opt/x.js -r /opt/y /opt/s.js
node --max-old-space-size=4096 --no-warnings /opt/s.js
tsx /opt/x.ts
deno run -A /opt/x.ts
deno run --allow-read=/data https://x/server.ts
deno run --allow-net jsr:@x/server
bun run --config=/opt/bunfig.toml /opt/x.ts
bun --cwd=/opt /opt/x.ts
env PATH=/opt/bin:/usr/bin server
env PYTHONPATH=/opt/lib python3 /opt/server.py
ruby -I /opt/lib /opt/s.rb
perl -w /opt/s.pl
java -jar /opt/s.jar
dotnet /opt/s.dll
node -- /opt/s.js
sh /opt/run.sh
sh -e /opt/run.sh
env A=1 node /opt/x.js
env A=1 B=2 server
uv --directory /opt/x run server.py
npx -y @x/server
npx server@1 ./data
uvx server
docker run -i --rm mcp/x
ssh host server`, false},
	} {
		for line := range strings.SplitSeq(strings.TrimSpace(list.lines), "\n") {
			words := strings.Fields(line)
			if NeedsDir(words) != list.needs || (Identity(words, "/a") != Identity(words, "/b")) != list.needs {
				t.Errorf("%s: needs its directory: %t", line, !list.needs)
			}
			if (DefaultName(words, "/a") != DefaultName(words, "/b")) != list.needs {
				t.Errorf("%s: %s in both directories: %t", line, DefaultName(words, "/a"), list.needs)
			}
		}
	}
	if NeedsDir(nil) {
		t.Error("no command needs a directory")
	}
}
