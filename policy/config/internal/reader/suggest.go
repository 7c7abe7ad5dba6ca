package reader

import "slices"

// Suggest returns the candidate that word most likely means: the one with the smallest edit
// distance. The distance may be two, or a third of the candidate's length if that is more. The
// first of equal candidates wins. Suggest returns "" if none is close.
func Suggest(word string, candidates []string) string {
	return suggest(word, candidates, func(c string) int { return max(2, (len(c)+1)/3) })
}

// launchers are programs that servers are started with. One that is not installed is no misspelling
// of another program.
var launchers = []string{
	"node", "nodejs", "npx", "npm", "pnpm", "pnpx", "yarn", "bun", "bunx", "deno", "tsx", "ts-node", "corepack", "volta",
	"python", "python2", "python3", "pip", "pip3", "pipx", "uvx", "poetry", "pdm", "hatch", "rye", "pixi", "conda", "mamba", "micromamba", "pyenv",
	"go", "cargo", "rustup", "java", "jbang", "mvn", "gradle", "kotlin", "scala", "dotnet", "ruby", "gem", "bundle", "bundler", "rbenv",
	"php", "composer", "perl", "lua", "luajit", "julia", "Rscript", "elixir", "mix", "erl", "swift", "dart", "flutter", "ghc", "stack", "cabal",
	"docker", "podman", "nerdctl", "flatpak", "flatpak-spawn", "snap", "nix", "nix-shell", "brew", "mise", "asdf", "fnm", "direnv", "devbox", "doppler",
	"bash", "dash", "fish", "pwsh", "powershell", "wsl", "wsl.exe", "cmd.exe", "sudo", "kubectl", "toolbox", "distrobox", "make", "just", "task",
}

// SuggestProgram is Suggest for names among which many are alike: it allows one mistake, and two
// if word has five letters or more. Of a name of two or three letters too many others differ in one.
func SuggestProgram(word string, candidates []string) string {
	if len(word) <= 3 || slices.Contains(launchers, word) {
		return ""
	}
	return suggest(word, candidates, func(string) int { return min(2, 1+len(word)/5) })
}

func suggest(word string, candidates []string, most func(candidate string) int) string {
	if len(word) > 64 {
		return "" // a hostile key is not a typing error
	}
	best, bestDistance := "", 1<<30
	for _, c := range candidates {
		// The lengths alone are too far apart.
		if gap := len(word) - len(c); max(gap, -gap) > most(c) {
			continue
		}
		if d := editDistance(word, c); d <= most(c) && d < bestDistance && d < len(c) {
			best, bestDistance = c, d
		}
	}
	return best
}

func editDistance(a, b string) int {
	before := make([]int, len(b)+1) // the row before the previous one, for swaps
	prev := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}
