package runtime

func advice(name string, lang Language, version string) string {
	switch {
	case name == "nvm", name == "fnm":
		return name + " install " + version
	case name == "volta":
		return "volta install node@" + version
	case name == "n":
		return "n " + version
	case name == "mise":
		return "mise use -g " + string(lang) + "@" + version
	case name == "pyenv":
		return "pyenv install " + version
	case name == "uv":
		return "uv python install " + version
	case name == "asdf" && lang == Node:
		return "asdf install nodejs latest:" + version
	case name == "asdf":
		return "asdf install python latest:" + version
	}
	return ""
}
