package npm

import "testing"

func TestVersionErrors(t *testing.T) {
	for _, v := range []string{"", "1", "1.2", "1.2.x", "=1.2.3", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3-a..b", "1.2.3+", "1.2.9007199254740992", "latest"} {
		if ok, err := EngineFits("*", v); err == nil || ok {
			t.Errorf("%q is a version", v)
		}
	}
	for _, v := range []string{"v1.2.3", " 1.2.3 ", "1.2.3-0a.-", "1.2.3+007"} {
		if ok, err := EngineFits("*", v); err != nil || !ok {
			t.Errorf("%q: %v", v, err)
		}
	}
}

func TestEngines(t *testing.T) {
	for _, c := range []struct{ name, file, want, err string }{
		{"a range", `{"engines":{"node":">=18","npm":">=9"}}`, ">=18", ""},
		{"none", `{"name":"a"}`, "", ""},
		{"a list, which npm ignores", `{"engines":["node >=0.6"]}`, "", ""},
		{"only npm", `{"engines":{"npm":"8"}}`, "", ""},
		{"another case of letters", `{"Engines":{"node":"1"}}`, "", ""},
		{"a byte order mark", "\xef\xbb\xbf" + `{"engines":{"node":"20"}}`, "20", ""},
		{"no range", `{"engines":{"node":"latest"}}`, "", `package.json: engines.node: the range "latest" cannot be read: "latest" is not a version`},
		{"not a string", `{"engines":{"node":{"a":1}}}`, "", `package.json: engines.node is {"a":1}, not a range such as ">=20"`},
		{"not JSON", `{`, "", "package.json: it is not a JSON object: unexpected end of JSON input"},
		{"null", `null`, "", "package.json: it is null, not a JSON object"},
	} {
		got, err := Engines([]byte(c.file))
		if got != c.want || message(err) != c.err {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func FuzzEngineFits(f *testing.F) {
	f.Add("^1.2 || 1 - 2 || >=3.x", "1.2.3-beta.1+b")
	f.Add("> > 1", "v1.0.0")
	f.Fuzz(func(t *testing.T, rng, v string) {
		once, err := EngineFits(rng, v)
		if again, _ := EngineFits(rng+" || "+rng, v); err == nil && again != once {
			t.Error("a range is not what it is twice")
		}
	})
}
