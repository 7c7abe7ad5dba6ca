package policy

import (
	"strings"
	"testing"
)

func TestMatchEnv(t *testing.T) {
	rules := func(names ...string) (out []EnvRule) {
		for _, n := range names {
			name, no := strings.CutPrefix(n, "!")
			out = append(out, EnvRule{Name: name, Read: !no})
		}
		return out
	}
	tests := []struct {
		rules []EnvRule
		name  string
		want  bool
	}{
		{nil, "A", false},
		{rules("A"), "A", true},
		{rules("A"), "AB", false},
		{rules("GH_*"), "GH_TOKEN", true},
		{rules("GH_*"), "GHX", false},
		{rules("GH_*", "!GH_TOKEN"), "GH_TOKEN", false},
		{rules("!GH_*", "GH_TOKEN"), "GH_TOKEN", false},
		{rules("!GH_TOKEN", "GH_TOKEN*"), "GH_TOKEN", false},
		{rules("A", "!A"), "A", false},
		{rules("*"), "X", true},
		{rules("*"), "LD_PRELOAD", false},
		{rules("LD_*"), "LD_PRELOAD", false},
		{rules("LD_PRELOAD*"), "LD_PRELOAD", false},
		{rules("LD_PRELOAD"), "LD_PRELOAD", true},
		{rules("NODE_*"), "NODE_OPTIONS", false},
		{rules("NODE_*"), "NODE_ENV", true},
		{rules("*"), "GIT_SSH_COMMAND", false},
		{rules("*"), "BASH_FUNC_x%%", false},
	}
	for _, tt := range tests {
		if _, got := MatchEnv(tt.rules, tt.name); got != tt.want {
			t.Errorf("%v on %s: %v", tt.rules, tt.name, got)
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
