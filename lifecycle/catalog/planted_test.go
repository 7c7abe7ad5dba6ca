//go:build unix

package catalog

var (
	nodeServer   = []string{"bin/node !", "home/ws2/server.js", "home/ws2/part.js"}
	pythonServer = []string{"opt/py/bin/python3 !", "opt/s/server.py"}
	runNode      = []string{"node", "ROOT/home/ws2/server.js"}
	runPython    = []string{"ROOT/opt/py/bin/python3", "ROOT/opt/s/server.py"}
)
