package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestMatchEnv(t *testing.T) {
	for _, row := range testkit.Rows(t, "variables.txt", 3) {
		var rules []EnvRule
		for _, n := range strings.Fields(row[0]) {
			name, no := strings.CutPrefix(n, "!")
			rules = append(rules, EnvRule{Name: name, Read: !no})
		}
		if _, got := MatchEnv(rules, row[1]); fmt.Sprint(got) != row[2] {
			t.Errorf("%s: %v", row, got)
		}
	}
	for _, name := range strings.Fields("LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES NODE_OPTIONS PYTHONPATH PYTHONSTARTUP PYTHONHOME PERL5OPT PERL5LIB RUBYOPT RUBYLIB BASH_ENV ENV JAVA_TOOL_OPTIONS GIT_SSH GIT_SSH_COMMAND GIT_EXEC_PATH GIT_COMMON_DIR CARGO_HOME RUSTUP_HOME CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER CARGO_TARGET_X_LINKER PYTHONWARNINGS MAKEFILES GNUMAKEFLAGS TAR_OPTIONS BUN_OPTIONS RUBYGEMS_GEMDEPS CARGO_BUILD_RUSTC npm_config_userconfig npm_config_globalconfig RUSTFLAGS GOTOOLCHAIN CVS_RSH LUA_INIT_5_4 RIPGREP_CONFIG_PATH FZF_DEFAULT_COMMAND GCC_EXEC_PREFIX PSQL_PAGER") {
		if !IsDangerousVariable(name) {
			t.Errorf("%s is not dangerous", name)
		}
	}
	for _, name := range strings.Fields("CARGO_TARGET_DIR CARGO_RUNNER CARGO_TERM_COLOR npm_config_cache GIT_TRACE JAVA_HOME GOPATH VIRTUAL_ENV XDG_CONFIG_HOME LUA_INITIAL") {
		if IsDangerousVariable(name) {
			t.Errorf("%s is dangerous", name)
		}
	}
}
