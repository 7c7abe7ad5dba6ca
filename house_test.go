// Package house_test holds the sources to the rules of docs/architecture.md: which package
// may import which, no init functions, no packages without a purpose in their name.
package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/mcp-jail/mcp-jail/"

// landlockCalls is go-landlock's package of constants, structures and system calls.
const landlockCalls = "github.com/landlock-lsm/go-landlock/landlock/syscall"

// mayImport lists, for each package of the product, the other packages and
// modules it may import beside the standard library. Tests are free.
var mayImport = map[string][]string{
	"policy": {module + "internal/show", module + "policy/internal/urlpath", "golang.org/x/net/idna", "golang.org/x/text/unicode/norm"}, // and neither os nor syscall: see pure

	"policy/internal/urlpath": {"golang.org/x/text/unicode/norm"}, // the same
	"policy/config":           {module + "internal/winpath", module + "internal/show", module + "internal/private", module + "policy", module + "policy/hostfs", module + "internal/toml", module + "policy/config/internal/reader", module + "policy/config/internal/stamp", module + "policy/config/internal/trust"},
	"policy/hostfs":           {module + "internal/show", module + "internal/winpath", module + "policy", "golang.org/x/sys/unix", "golang.org/x/sys/windows", "golang.org/x/text/unicode/norm"},
	"policy/resolve":          {module + "internal/lazy", module + "internal/winpath", module + "internal/show", module + "policy", module + "policy/statement", module + "policy/hostfs", module + "policy/resolve/internal/command", module + "policy/resolve/internal/entries", module + "policy/resolve/internal/masks", module + "policy/resolve/internal/places"},

	"policy/config/internal/reader":      {module + "internal/show", module + "internal/toml", module + "policy"}, // the same
	"policy/config/internal/stamp":       {module + "policy/hostfs"},
	"policy/config/internal/trust":       {module + "internal/private", module + "internal/show", module + "internal/toml", module + "policy/config/internal/reader", module + "policy/hostfs"},
	"policy/resolve/internal/command":    {module + "internal/show", module + "internal/wrapper", module + "policy", module + "policy/hostfs", module + "policy/resolve/internal/places"},
	"policy/resolve/internal/entries":    {module + "policy", module + "policy/hostfs"},
	"policy/resolve/internal/masks":      {module + "internal/lazy", module + "internal/show", module + "policy", module + "policy/hostfs", module + "policy/resolve/internal/entries", module + "policy/resolve/internal/places", module + "policy/resolve/internal/shellwords"},
	"policy/resolve/internal/places":     {module + "internal/winpath", module + "policy", module + "policy/hostfs"},
	"policy/resolve/internal/shellwords": {},
	"internal/winpath":                   {},

	"mcpproxy":       {},
	"diagnostics":    {module + "diagnostics/internal/programs", module + "diagnostics/internal/words", module + "diagnostics/internal/report", module + "diagnostics/internal/redact", module + "diagnostics/internal/grants", module + "diagnostics/internal/facts", module + "diagnostics/internal/paths", module + "diagnostics/internal/network", module + "diagnostics/internal/names", module + "diagnostics/internal/limits", module + "diagnostics/internal/starts", module + "internal/show", module + "policy"},
	"confine/jailed": {module + "confine", module + "internal/homelinks", module + "internal/show", module + "policy", module + "policy/config", module + "policy/hostfs", module + "policy/resolve", "golang.org/x/sys/unix"},
	"confine/egress": {module + "confine/egress/front", module + "confine/egress/http1", module + "confine/egress/asking", module + "confine/egress/names", "confine/egress/packet", module + "confine/egress/packet", module + "confine/egress/upstream", module + "policy", module + "policy/leak", "golang.org/x/net/dns/dnsmessage", "golang.org/x/time/rate"},
	"lifecycle":      {module + "policy", module + "confine", module + "diagnostics", module + "lifecycle/internal/certain", module + "lifecycle/internal/session", module + "lifecycle/internal/stateful", module + "lifecycle/internal/stateless"},

	"lifecycle/internal/refusals":   {module + "policy", module + "diagnostics", "golang.org/x/time/rate"},
	"lifecycle/internal/streams":    {module + "internal/show", module + "confine", "golang.org/x/sys/unix"},
	"lifecycle/internal/session":    {module + "internal/show", module + "lifecycle/internal/certain", module + "lifecycle/internal/refusals", module + "lifecycle/internal/streams", module + "packages/toolpin", module + "policy", module + "policy/statement", module + "policy/leak", module + "mcpproxy", module + "confine", module + "diagnostics", "github.com/rs/zerolog"},
	"lifecycle/internal/stateful":   {module + "policy", module + "mcpproxy", module + "confine", module + "diagnostics", module + "lifecycle/internal/session", module + "lifecycle/internal/streams", "github.com/mattn/go-isatty"},
	"lifecycle/internal/stateless":  {module + "internal/show", module + "policy", module + "mcpproxy", module + "confine", module + "diagnostics", module + "lifecycle/internal/answers", module + "lifecycle/internal/capability", module + "lifecycle/internal/certain", module + "lifecycle/internal/clientinfo", module + "lifecycle/internal/session", module + "lifecycle/internal/streams"},
	"lifecycle/internal/certain":    {module + "policy"},
	"lifecycle/internal/answers":    {module + "internal/private", module + "policy", module + "mcpproxy", module + "lifecycle/internal/capability", module + "lifecycle/internal/clientinfo", module + "lifecycle/internal/session"},
	"lifecycle/internal/clientinfo": {module + "mcpproxy", module + "lifecycle/internal/session"},
	"lifecycle/internal/capability": {module + "mcpproxy", module + "lifecycle/internal/session"},

	"diagnostics/internal/words":    {module + "internal/lazy", module + "internal/show", module + "policy"},                                                           // and neither os nor syscall: see pure
	"diagnostics/internal/programs": {module + "diagnostics/internal/words", module + "policy", "github.com/pelletier/go-toml/v2"},                                     // the same
	"diagnostics/internal/redact":   {module + "internal/show", module + "policy", module + "policy/leak"},                                                             // the same
	"diagnostics/internal/report":   {module + "diagnostics/internal/words", module + "internal/show", module + "mcpproxy", module + "policy", module + "policy/leak"}, // the same
	"diagnostics/internal/grants":   {module + "diagnostics/internal/words", module + "diagnostics/internal/redact", module + "internal/show", module + "policy"},      // the same
	"diagnostics/internal/facts":    {module + "diagnostics/internal/words", module + "diagnostics/internal/report", module + "diagnostics/internal/redact", module + "diagnostics/internal/grants", module + "internal/show", module + "policy"},
	"diagnostics/internal/names":    {module + "diagnostics/internal/words", module + "diagnostics/internal/report", module + "diagnostics/internal/grants", module + "diagnostics/internal/facts", module + "policy"}, // and neither os nor syscall: see pure
	"diagnostics/internal/limits":   {module + "diagnostics/internal/words", module + "diagnostics/internal/report", module + "diagnostics/internal/grants", module + "diagnostics/internal/facts", module + "internal/show", module + "policy"},
	"diagnostics/internal/paths":    {module + "diagnostics/internal/programs", module + "diagnostics/internal/words", module + "diagnostics/internal/report", module + "diagnostics/internal/grants", module + "diagnostics/internal/facts", module + "diagnostics/internal/names", module + "internal/lazy", module + "internal/show", module + "policy"}, // and neither os nor syscall: see pure
	"diagnostics/internal/network":  {module + "diagnostics/internal/words", module + "diagnostics/internal/report", module + "diagnostics/internal/grants", module + "diagnostics/internal/facts", module + "diagnostics/internal/limits", module + "internal/show", module + "policy"},                                                                    // the same
	"diagnostics/internal/starts":   {module + "internal/wrapper", module + "diagnostics/internal/words", module + "diagnostics/internal/report", module + "diagnostics/internal/grants", module + "diagnostics/internal/facts", module + "diagnostics/internal/names", module + "diagnostics/internal/paths", module + "internal/lazy", module + "internal/show", module + "policy"},

	"confine/egress/egresstest": {"golang.org/x/net/dns/dnsmessage", "golang.org/x/sys/unix"}, // for tests: no other line has it
	"confine/egress/tlsworker":  {module + "policy", module + "policy/leak", module + "policy/hostfs", module + "confine/egress", "golang.org/x/sys/unix"},
	"cmd/mcp-jail-tls":          {module + "confine/egress/tlsworker", module + "confine/egress/intercept"},
	"confine/egress/upstream":   {"golang.org/x/net/http/httpproxy", "golang.org/x/net/proxy"},
	"confine/egress/asking":     {},
	"confine/egress/names":      {module + "policy", "golang.org/x/net/dns/dnsmessage"},
	"confine/egress/front":      {module + "confine/egress/http1", "confine/egress/packet", module + "policy"},
	"confine/egress/packet":     {}, // and neither os nor syscall: see pure
	"confine/egress/http1":      {}, // and neither os nor syscall: see pure
	"confine/egress/intercept":  {module + "policy", module + "policy/leak", module + "confine/egress"},
	"internal/show":             {}, // and neither os nor syscall: see pure
	"internal/wrapper":          {}, // the same

	"internal/toml":     {"github.com/pelletier/go-toml/v2/unstable"}, // the same
	"internal/testkit":  {"golang.org/x/sys/unix"},                    // for tests: no other line has it
	"internal/lazy":     {},
	"internal/resident": {"golang.org/x/sys/unix"},
	"internal/private":  {module + "policy/hostfs", "golang.org/x/sys/unix", "golang.org/x/sys/windows"},

	"internal/homelinks": {module + "internal/private", module + "policy", module + "policy/hostfs"},

	"internal/diff":    {},
	"internal/environ": {}, // the table of variables; and neither os nor syscall: see pure

	"clients": {module + "policy", module + "policy/config"}, // and neither os nor syscall: see pure

	"undo": {module + "internal/diff", module + "internal/show", module + "internal/private", "golang.org/x/sys/unix"},

	"docs/explain": {}, // the pages; only mcp-jail-cli has them

	"packages/runline":   {module + "internal/lazy", module + "internal/show", module + "internal/wrapper"}, // and neither os nor syscall: see pure
	"packages/npm":       {module + "internal/lazy"},                                                        // the same
	"policy/statement":   {module + "policy"},                                                               // the same
	"policy/leak":        {module + "policy"},                                                               // and neither os nor syscall: see pure
	"packages/toolpin":   {module + "internal/show", "github.com/go-json-experiment/json", "github.com/go-json-experiment/json/jsontext"},
	"packages/lockfile":  {module + "internal/show", module + "internal/private", module + "packages/npm", module + "packages/toolpin", "github.com/go-json-experiment/json", "github.com/go-json-experiment/json/jsontext"},
	"packages/python":    {module + "internal/lazy", module + "internal/winpath", module + "packages/runline"}, // and neither os nor syscall: see pure
	"packages/runtime":   {module + "internal/lazy", module + "internal/show", module + "policy", module + "policy/hostfs"},
	"packages/sources":   {module + "internal/lazy", module + "internal/show", module + "policy", module + "policy/hostfs", "github.com/pelletier/go-toml/v2"},
	"packages/store":     {module + "internal/private", "golang.org/x/sys/unix"},
	"packages/jail":      {module + "policy", module + "policy/hostfs", module + "policy/resolve", module + "confine"},
	"packages/installed": {module + "internal/winpath", module + "internal/environ", module + "internal/private", module + "policy", module + "policy/hostfs", module + "packages/jail", module + "packages/runline", module + "packages/lockfile", module + "packages/npm", module + "packages/python", module + "packages/runtime", module + "packages/store", module + "packages/sources"},
	"packages/install":   {module + "internal/lazy", module + "internal/winpath", module + "internal/environ", module + "internal/show", module + "policy", module + "policy/hostfs", module + "confine", module + "diagnostics", module + "packages/installed", module + "packages/jail", module + "packages/runline", module + "packages/lockfile", module + "packages/npm", module + "packages/toolpin", module + "packages/python", module + "packages/runtime", module + "packages/store", module + "packages/sources"},

	"clients/edit":    {module + "internal/diff", module + "internal/lazy", module + "internal/show", module + "internal/toml", "github.com/BurntSushi/toml", "github.com/tailscale/hujson", "go.yaml.in/yaml/v3"}, // and neither os nor syscall: see pure
	"clients/ownfile": {module + "internal/winpath"},
	"clients/plugins": {module + "clients"},
	"presets":         {module + "internal/environ", module + "internal/winpath", module + "internal/show", module + "packages/runline", module + "policy", module + "policy/config", "github.com/pelletier/go-toml/v2"},

	"cmd/mcp-jail":           {module + "cmd/internal/cmdline", module + "cmd/internal/exit", module + "cmd/internal/programs", module + "cmd/internal/session", module + "cmd/internal/terminal", module + "confine", module + "internal/resident", module + "internal/show", module + "lifecycle", module + "policy/hostfs", "github.com/rs/zerolog"},
	"cmd/mcp-jail-cli":       {module + "cmd/internal/commands"},
	"cmd/internal/programs":  {"golang.org/x/sys/windows"}, // how the two above find each other
	"cmd/internal/terminal":  {module + "internal/lazy", module + "internal/show", "github.com/mattn/go-isatty", "golang.org/x/sys/unix", "golang.org/x/term"},
	"cmd/internal/exit":      {module + "cmd/internal/terminal", module + "internal/show", module + "policy", module + "policy/config", module + "policy/hostfs", module + "policy/resolve"},
	"cmd/internal/shown":     {module + "internal/lazy", module + "internal/show"},
	"cmd/internal/identity":  {module + "cmd/internal/shown", module + "internal/show", module + "policy"},
	"cmd/internal/cmdline":   {module + "cmd/internal/exit", module + "internal/show", module + "packages/runline", module + "policy", module + "policy/config"},
	"cmd/internal/records":   {module + "internal/homelinks", module + "internal/show", module + "internal/private", module + "diagnostics", module + "policy", module + "policy/hostfs", "golang.org/x/sys/unix"},
	"cmd/internal/keeping":   {module + "cmd/internal/records", module + "cmd/internal/terminal", module + "lifecycle", module + "confine", module + "internal/show", module + "policy", module + "policy/hostfs", module + "undo"},
	"cmd/internal/fetching":  {module + "cmd/internal/exit", module + "cmd/internal/terminal", module + "confine", module + "internal/show", "golang.org/x/sys/unix"},
	"cmd/internal/session":   {module + "cmd/internal/identity", module + "cmd/internal/fetching", module + "cmd/internal/keeping", module + "cmd/internal/cmdline", module + "cmd/internal/exit", module + "cmd/internal/programs", module + "cmd/internal/records", module + "cmd/internal/terminal", module + "cmd/internal/updates", module + "confine", module + "diagnostics", module + "internal/homelinks", module + "internal/lazy", module + "internal/private", module + "internal/show", module + "internal/wrapper", module + "lifecycle", module + "packages/installed", module + "packages/lockfile", module + "packages/npm", module + "packages/runline", module + "packages/store", module + "packages/toolpin", module + "policy", module + "policy/config", module + "policy/hostfs", module + "policy/resolve", module + "presets", "golang.org/x/sys/unix", module + "packages/sources"},
	"cmd/internal/stored":    {module + "cmd/internal/identity", module + "cmd/internal/records", module + "cmd/internal/session", module + "diagnostics", module + "internal/private", module + "packages/installed", module + "packages/runline", module + "packages/lockfile", module + "packages/store", module + "policy", module + "policy/config", module + "policy/hostfs", module + "internal/show"},
	"cmd/internal/drive":     {module + "cmd/internal/handshake", module + "internal/lazy", module + "internal/show"},
	"cmd/internal/handshake": {module + "cmd/internal/programs", module + "cmd/internal/session", module + "cmd/internal/terminal", module + "confine", module + "diagnostics", module + "lifecycle", module + "packages/toolpin", "github.com/mark3labs/mcp-go/mcp"},
	"cmd/internal/lines":     {module + "presets", module + "internal/wrapper", module + "internal/show", module + "cmd/internal/shown", module + "packages/install", module + "packages/installed", module + "packages/runline", module + "policy/hostfs", module + "policy/resolve"},
	"cmd/internal/updates":   {module + "internal/private", module + "internal/show", module + "policy/hostfs"},
	"cmd/internal/dotenv":    {module + "clients", module + "internal/environ", module + "policy"},
	"cmd/internal/windows":   {module + "internal/winpath", module + "clients", module + "internal/lazy", module + "internal/show", module + "packages/runline"},
	"cmd/internal/gaps":      {module + "policy/config", module + "clients", module + "cmd/internal/cmdline", module + "cmd/internal/exit", module + "cmd/internal/session", module + "cmd/internal/wrapping", module + "internal/private", module + "confine", module + "confine/egress/tlsworker", module + "packages/runline", module + "policy"},
	"cmd/internal/wrapping":  {module + "cmd/internal/identity", module + "cmd/internal/windows", module + "internal/winpath", module + "cmd/internal/wrapping/internal/meaning", module + "cmd/internal/updates", module + "cmd/internal/dotenv", module + "clients/plugins", module + "cmd/internal/shown", module + "internal/lazy", module + "packages/installed", module + "cmd/internal/lines", module + "packages/npm", module + "internal/show", module + "internal/environ", module + "internal/private", module + "cmd/internal/cmdline", module + "clients", module + "clients/edit", module + "clients/ownfile", module + "packages/runline", module + "policy", module + "policy/config", module + "policy/hostfs", module + "policy/resolve", module + "presets"},

	"cmd/internal/wrapping/internal/meaning": {module + "internal/winpath", module + "clients", module + "policy", module + "policy/config", module + "policy/hostfs", module + "policy/resolve"},

	// mcp-jail-cli
	"cmd/internal/commands":           {module + "cmd/internal/cmdline", module + "cmd/internal/commands/callcmd", module + "cmd/internal/commands/cli", module + "cmd/internal/commands/configcmd", module + "cmd/internal/commands/doctorcmd", module + "cmd/internal/commands/grantcmd", module + "cmd/internal/commands/inspect", module + "cmd/internal/commands/learncmd", module + "cmd/internal/commands/pkgcmd", module + "cmd/internal/commands/undocmd", module + "cmd/internal/commands/wrapcmd", module + "cmd/internal/exit", module + "cmd/internal/programs", module + "cmd/internal/session", module + "cmd/internal/terminal", module + "confine", module + "diagnostics", module + "docs/explain", module + "policy", module + "policy/config", module + "policy/hostfs", "github.com/spf13/cobra", module + "cmd/internal/commands/statuscmd"},
	"cmd/internal/commands/cli":       {module + "clients", module + "cmd/internal/cmdline", module + "cmd/internal/exit", module + "cmd/internal/stored", module + "cmd/internal/records", module + "cmd/internal/session", module + "cmd/internal/terminal", module + "internal/lazy", module + "internal/show", module + "policy/config", module + "policy/hostfs", module + "presets", "github.com/spf13/cobra", "github.com/spf13/pflag"},
	"cmd/internal/commands/learncmd":  {module + "cmd/internal/cmdline", module + "cmd/internal/commands/callcmd", module + "cmd/internal/commands/cli", module + "cmd/internal/commands/grantcmd", module + "cmd/internal/commands/index", module + "cmd/internal/drive", module + "cmd/internal/exit", module + "cmd/internal/handshake", module + "cmd/internal/identity", module + "cmd/internal/programs", module + "cmd/internal/session", module + "cmd/internal/terminal", module + "diagnostics", module + "internal/show", module + "policy", module + "policy/hostfs", module + "policy/resolve", "github.com/spf13/cobra"},
	"cmd/internal/commands/callcmd":   {module + "cmd/internal/cmdline", module + "clients", module + "clients/ownfile", module + "cmd/internal/programs", module + "cmd/internal/session", module + "cmd/internal/shown", module + "cmd/internal/wrapping", module + "cmd/internal/commands/cli", module + "cmd/internal/commands/index", module + "cmd/internal/exit", module + "cmd/internal/handshake", module + "cmd/internal/records", module + "cmd/internal/terminal", module + "diagnostics", module + "internal/show", module + "policy", module + "policy/config", module + "policy/hostfs", "github.com/spf13/cobra"},
	"cmd/internal/commands/index":     {module + "clients", module + "clients/ownfile", module + "cmd/internal/cmdline", module + "cmd/internal/commands/cli", module + "cmd/internal/exit", module + "cmd/internal/identity", module + "cmd/internal/programs", module + "cmd/internal/session", module + "cmd/internal/shown", module + "cmd/internal/stored", module + "cmd/internal/terminal", module + "cmd/internal/windows", module + "cmd/internal/wrapping", module + "internal/private", module + "internal/show", module + "policy", module + "policy/config", module + "policy/hostfs", "github.com/spf13/cobra"},
	"cmd/internal/commands/prefetch":  {module + "clients", module + "cmd/internal/cmdline", module + "cmd/internal/commands/cli", module + "cmd/internal/exit", module + "cmd/internal/fetching", module + "cmd/internal/gaps", module + "cmd/internal/programs", module + "cmd/internal/session", module + "cmd/internal/stored", module + "cmd/internal/terminal", module + "cmd/internal/wrapping", module + "internal/show", module + "packages/installed", module + "packages/lockfile", module + "packages/runline", module + "policy/hostfs"},
	"cmd/internal/commands/wrapcmd":   {module + "policy/resolve", module + "cmd/internal/shown", module + "clients", module + "cmd/internal/cmdline", module + "cmd/internal/commands/cli", module + "cmd/internal/commands/index", module + "cmd/internal/commands/prefetch", module + "cmd/internal/exit", module + "cmd/internal/gaps", module + "cmd/internal/stored", module + "cmd/internal/records", module + "cmd/internal/session", module + "cmd/internal/terminal", module + "cmd/internal/wrapping", module + "confine", module + "internal/show", module + "presets", module + "packages/runline", module + "policy", module + "policy/config", module + "policy/hostfs", "github.com/spf13/cobra"},
	"cmd/internal/commands/grantcmd":  {module + "clients", module + "cmd/internal/cmdline", module + "cmd/internal/commands/cli", module + "cmd/internal/commands/index", module + "cmd/internal/exit", module + "cmd/internal/identity", module + "cmd/internal/records", module + "cmd/internal/session", module + "cmd/internal/shown", module + "cmd/internal/stored", module + "cmd/internal/terminal", module + "cmd/internal/wrapping", module + "confine", module + "diagnostics", module + "internal/show", module + "internal/winpath", module + "policy", module + "policy/config", module + "policy/hostfs", module + "policy/resolve", "github.com/spf13/cobra"},
	"cmd/internal/commands/pkgcmd":    {module + "cmd/internal/programs", module + "cmd/internal/cmdline", module + "cmd/internal/commands/cli", module + "cmd/internal/commands/index", module + "cmd/internal/exit", module + "cmd/internal/fetching", module + "cmd/internal/gaps", module + "cmd/internal/handshake", module + "cmd/internal/stored", module + "cmd/internal/session", module + "cmd/internal/terminal", module + "confine", module + "internal/private", module + "internal/show", module + "packages/install", module + "packages/installed", module + "packages/runline", module + "packages/lockfile", module + "packages/toolpin", module + "policy", module + "policy/config", module + "policy/hostfs", "github.com/spf13/cobra"},
	"cmd/internal/commands/inspect":   {module + "cmd/internal/identity", module + "cmd/internal/lines", module + "cmd/internal/shown", module + "clients", module + "cmd/internal/cmdline", module + "cmd/internal/commands/cli", module + "cmd/internal/commands/index", module + "cmd/internal/exit", module + "cmd/internal/handshake", module + "cmd/internal/stored", module + "cmd/internal/records", module + "cmd/internal/session", module + "cmd/internal/terminal", module + "cmd/internal/wrapping", module + "confine", module + "diagnostics", module + "internal/show", module + "policy", module + "policy/config", module + "policy/hostfs", module + "policy/leak", module + "policy/resolve", "github.com/spf13/cobra"},
	"cmd/internal/commands/doctorcmd": {module + "cmd/internal/commands/cli", module + "cmd/internal/commands/index", module + "cmd/internal/exit", module + "cmd/internal/programs", module + "cmd/internal/session", module + "cmd/internal/terminal", module + "confine", module + "confine/egress/tlsworker", module + "internal/private", module + "internal/show", module + "policy", module + "policy/hostfs", "github.com/spf13/cobra", "golang.org/x/sys/unix"},
	"cmd/internal/commands/statuscmd": {module + "clients", module + "cmd/internal/cmdline", module + "cmd/internal/commands/cli", module + "cmd/internal/commands/index", module + "cmd/internal/exit", module + "cmd/internal/gaps", module + "cmd/internal/identity", module + "cmd/internal/lines", module + "cmd/internal/records", module + "cmd/internal/session", module + "cmd/internal/shown", module + "cmd/internal/stored", module + "cmd/internal/terminal", module + "cmd/internal/wrapping", module + "confine", module + "diagnostics", module + "internal/private", module + "internal/show", module + "packages/runline", module + "policy", module + "policy/config", module + "policy/hostfs", module + "presets", "github.com/spf13/cobra"},
	"cmd/internal/commands/undocmd":   {module + "cmd/internal/commands/cli", module + "cmd/internal/commands/index", module + "cmd/internal/cmdline", module + "cmd/internal/exit", module + "cmd/internal/keeping", module + "cmd/internal/session", module + "cmd/internal/stored", module + "cmd/internal/terminal", module + "diagnostics", module + "internal/show", module + "policy", module + "policy/hostfs", module + "undo", "github.com/spf13/cobra"},
	"cmd/internal/commands/configcmd": {module + "cmd/internal/cmdline", module + "cmd/internal/commands/cli", module + "cmd/internal/commands/inspect", module + "cmd/internal/exit", module + "cmd/internal/session", module + "cmd/internal/shown", module + "cmd/internal/terminal", module + "internal/show", module + "policy", module + "policy/config", module + "policy/hostfs", module + "policy/resolve", module + "presets", "github.com/spf13/cobra"},
}

// inside lists what the packages of confine may import of one another. The order is that
// of the layers: a package imports only packages that are below it.
var inside = map[string][]string{
	"confine": {"egress", "egress/tlsworker", "internal/sandboxexec", "internal/seatbelt", "internal/selftest", "internal/cgroup", "internal/gateway", "internal/jail", "internal/plan", "internal/dirs", "internal/features", "internal/proc", "internal/refused", "internal/reported", "internal/rootfs", "internal/spec", "internal/step", "internal/stub", "internal/supervisor", "internal/sys", "internal/winjail"},

	"confine/internal/sandboxexec":     {"internal/jail", "internal/seatbelt", "internal/spec", "internal/step"},
	"confine/internal/selftest":        {"internal/features", "internal/sandboxexec", "internal/seatbelt"},
	"confine/internal/seatbelt":        {},
	"confine/internal/winjail":         {"internal/step"},
	"confine/internal/refused":         {"internal/features", "internal/jail", "internal/plan", "internal/step"},
	"confine/internal/gateway":         {"egress", "egress/tlsworker", "internal/plan", "internal/features", "internal/spec", "internal/step", "internal/sys"},
	"confine/internal/plan":            {"egress", "internal/cgroup", "internal/seatbelt", "internal/landlock", "internal/features", "internal/seccomp", "internal/spec"},
	"confine/internal/features":        {"internal/cgroup", "internal/landlock", "internal/proc", "internal/seatbelt", "internal/seccomp", "internal/spec", "internal/step", "internal/sys"},
	"confine/internal/supervisor":      {"internal/jail", "internal/mediate", "internal/oom", "internal/proc", "internal/seccomp", "internal/spec", "internal/step", "internal/stub", "internal/sys"},
	"confine/internal/mediate":         {"internal/mediate/sockets", "internal/mediate/starts", "internal/proc", "internal/seccomp", "internal/spec", "internal/step", "internal/stub", "internal/sys"},
	"confine/internal/mediate/sockets": {"internal/proc", "internal/seccomp", "internal/spec", "internal/step", "internal/sys"},
	"confine/internal/mediate/starts":  {"internal/proc", "internal/seccomp"},
	"confine/internal/jail":            {"internal/landlock", "internal/proc", "internal/rootfs", "internal/seccomp", "internal/spec", "internal/step", "internal/stub", "internal/sys"},
	"confine/internal/rootfs":          {"internal/spec", "internal/step", "internal/stub"},
	"confine/internal/cgroup":          {"internal/proc", "internal/spec", "internal/step"},
	"confine/internal/dirs":            {"internal/step"},
	"confine/internal/reported":        {"internal/spec", "internal/step", "internal/sys"},
	"confine/internal/oom":             {"internal/proc"},
	"confine/internal/spec":            {"internal/landlock", "internal/stub"},
	"confine/internal/seccomp":         {"internal/stub", "internal/sys"},
	"confine/internal/landlock":        {"internal/stub"},
	"confine/internal/sys":             {"internal/step"},
	"confine/internal/proc":            {},
	"confine/internal/step":            {},
	"confine/internal/stub":            {},
}

// insideModules are the other packages and modules that those of inside may import.
var insideModules = []string{module + "internal/environ", module + "internal/private", module + "internal/resident", module + "undo", module + "policy", module + "policy/hostfs", module + "policy/leak", module + "policy/statement", landlockCalls, "golang.org/x/sys/unix", "golang.org/x/sys/windows", "golang.org/x/net/bpf"}

// forTests are packages that only tests import: no line of the product has them.
var forTests = []string{
	"confine/attacks", "confine/integration", "confine/internal/attacker", "confine/internal/jailtest", "confine/internal/landlock/landlocktest",
	"confine/internal/plan/plantest", "confine/internal/features/featurestest", "confine/internal/seccomp/bpftest", "confine/internal/seccomp/seccomptest", "confine/internal/seatbelt/seatbelttest",
	"lifecycle/internal/sessiontest", "policy/policytest", "internal/testkit/markdown", "internal/testkit/registry", "internal/testkit/container",
}

// pure packages decide from what they are given: they import neither os nor syscall.
var pure = []string{"policy/internal/urlpath", "policy/config/internal/reader", "policy/resolve/internal/shellwords", "internal/winpath", "confine/egress/http1", "confine/egress/packet", "internal/diff", "internal/environ", "internal/show", "internal/toml", "policy/leak", "policy/statement", "clients", "clients/edit", "clients/plugins", "policy", "packages/runline", "packages/npm", "packages/toolpin", "packages/python", "presets", "internal/wrapper",
	"diagnostics/internal/words", "diagnostics/internal/redact", "diagnostics/internal/report", "diagnostics/internal/grants", "diagnostics/internal/names", "diagnostics/internal/paths", "diagnostics/internal/network"}

// freeTrees are no part of the product, which imports nothing of them. They may import anything.
var freeTrees = []string{"internal/wine", "examples", "bench", "testdata", "conformance"}

var emptyNames = []string{"util", "utils", "common", "helpers", "helper", "base", "types", "misc", "shared"}

// TestHouse reads every Go file of the checkout, whatever its build tags.
func TestHouse(t *testing.T) {
	seen, started := map[string]bool{}, maps.Clone(starts)
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "bin"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		seen[path.Dir(filepath.ToSlash(name))] = true
		for _, fault := range faults(t, filepath.ToSlash(name), nil) {
			t.Errorf("%s: %s", name, fault)
		}
		if found := startsOf(t, filepath.ToSlash(name), nil); found != nil {
			if starts[filepath.ToSlash(name)].why == "" {
				t.Errorf("%s starts a program outside of a jail, and is not on the list of those that may: %s", name, found)
			}
			delete(started, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range started {
		t.Errorf("%s is on the list of those that start a program, and starts none", name)
	}
	for dir := range mayImport {
		if !seen[dir] {
			t.Errorf("no source was read in %s", dir)
		}
	}
	for dir := range inside {
		if !seen[dir] {
			t.Errorf("no source was read in %s", dir)
		}
	}
}

// isFree reports whether a package is no part of the product.
func isFree(dir string) bool {
	return slices.Contains(forTests, dir) || slices.ContainsFunc(freeTrees, func(tree string) bool { return dir == tree || strings.HasPrefix(dir, tree+"/") })
}

// faults lists what is against the rules in one file; src replaces its content.
func faults(t *testing.T, name string, src any) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	if slices.Contains(emptyNames, file.Name.Name) {
		out = append(out, "the package name "+file.Name.Name+" says nothing")
	}
	dir := path.Dir(name)
	free := isFree(dir)
	allowed, known := mayImport[dir]
	if below, ok := inside[dir]; ok {
		allowed, known = slices.Clone(insideModules), true
		for _, name := range below {
			allowed = append(allowed, module+"confine/"+name)
		}
	}
	if !free && !known {
		out = append(out, "the package "+dir+" has no line in the table of imports")
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if imported == "C" {
			out = append(out, "cgo")
		}
		first, _, _ := strings.Cut(imported, "/")
		if slices.Contains(pure, dir) && (first == "os" || imported == "syscall") {
			out = append(out, dir+" is pure: it may not import "+imported)
		}
		// The paths of a profile have slashes on every system: a loop by filepath.Dir does not end for them.
		if imported == "path/filepath" && (dir == "policy" || strings.HasPrefix(dir, "policy/resolve")) {
			out = append(out, dir+" has paths with slashes: it may not import "+imported)
		}
		if strings.Contains(first, ".") && !free && !slices.Contains(allowed, imported) {
			out = append(out, dir+" may not import "+imported)
		}
	}
	if !free && !slices.Contains(forTests, dir) && compilesAtStart(file) {
		out = append(out, "a regular expression is compiled at each start: compile it when it is used (sync.OnceValue)")
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || free {
			continue
		}
		if f.Recv == nil && f.Name.Name == "init" {
			out = append(out, "an init function")
		}
	}
	return out
}

// TestFaults shows that each rule can fail.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"policy/x.go", "package policy\nimport _ \"" + module + "confine\"", "may not import"},
		{"policy/p.go", "package policy\nimport _ \"os\"", "is pure"},
		{"policy/z_linux.go", "package policy\nimport _ \"syscall\"", "is pure"},
		{"policy/f.go", "package policy\nimport _ \"path/filepath\"", "has paths with slashes"},
		{"policy/q.go", "package policy\nimport _ \"" + module + "policy/resolve\"", "may not import"},
		{"mcpproxy/x.go", "package mcpproxy\nimport _ \"github.com/rs/zerolog\"", "may not import"},
		{"confine/x_plan9.go", "package confine\nfunc init() {}", "init"},
		{"confine/x.go", "package confine\nimport \"C\"", "cgo"},
		{"cmd/mcp-jail/x.go", "package main\nimport _ \"" + module + "examples/demo\"", "may not import"},
		{"cmd/mcp-jail/y.go", "package main\nimport _ \"github.com/spf13/cobra\"", "may not import"},
		{"cmd/internal/session/x.go", "package session\nimport _ \"" + module + "cmd/internal/commands\"", "may not import"},
		{"confine/y.go", "package confine\nimport _ \"" + module + "confine/egress/egresstest\"", "may not import"},
		{"policy/z.go", "package policy\nimport _ \"" + module + "internal/testkit\"", "may not import"},
		{"confine/internal/seccomp/x.go", "package seccomp\nimport _ \"" + module + "confine/internal/jail\"", "may not import"},
		{"confine/internal/plan/x.go", "package plan\nimport _ \"" + module + "confine/internal/plan/plantest\"", "may not import"},
		{"confine/internal/jail/x.go", "package jail\nimport _ \"" + module + "confine/internal/seccomp\"", ""},
		{"confine/internal/newcomer/x.go", "package newcomer", "no line"},
		{"helpers/x.go", "package helpers", "says nothing"},
		{"newcomer/x.go", "package newcomer", "no line"},
		{"lifecycle/x.go", "package lifecycle\nimport _ \"" + module + "confine/egress\"", "may not import"},
		{"lifecycle/internal/clientinfo/x.go", "package clientinfo\nimport _ \"" + module + "policy\"", "may not import"},
		{"lifecycle/internal/stateless/y.go", "package stateless\nimport _ \"" + module + "lifecycle/internal/answers\"", ""},
		{"lifecycle/internal/session/y.go", "package session\nimport _ \"" + module + "lifecycle/internal/stateful\"", "may not import"},
		{"policy/r.go", "package policy\nimport \"regexp\"\nvar r = regexp.MustCompile(``)", "at each start"},
		{"policy/o.go", "package policy\nimport \"regexp\"\nvar r = func() *regexp.Regexp { return regexp.MustCompile(``) }", ""},
		{"policy/config/y.go", "package config\nimport _ \"os\"", ""},
		{"examples/y.go", "package main\nimport _ \"github.com/mark3labs/mcp-go/mcp\"", ""},
	} {
		got := strings.Join(faults(t, c.name, c.src), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
