package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
)

func environmentThefts() []theft {
	return []theft{
		{
			name: "env", about: "List all variables; names only, since the answer ends up in logs",
			try: func(context.Context, arguments) (string, error) {
				var names []string
				for _, pair := range os.Environ() {
					name, _, _ := strings.Cut(pair, "=")
					names = append(names, name)
				}
				slices.Sort(names)
				return fmt.Sprintf("%d variables: %s", len(names), strings.Join(names, " ")), nil
			},
			sweep: always(nil),
		},
		{
			name: "env_var", about: "Read one variable",
			params: []param{{name: "name", about: "of the variable", required: true}},
			try: func(_ context.Context, a arguments) (string, error) {
				name := a.text("name", "")
				value, ok := os.LookupEnv(name)
				if !ok {
					return "", fmt.Errorf("%w: %s is not set", errNothing, name)
				}
				return fmt.Sprintf("%s=%q", name, value), nil
			},
			sweep: func(b bounty) []arguments {
				if b.variable == "" {
					return nil
				}
				return []arguments{{"name": b.variable}}
			},
		},
	}
}
