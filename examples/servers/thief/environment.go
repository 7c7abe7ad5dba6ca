package main

import (
	"context"
	"fmt"
	"os"
)

func environmentThefts() []theft {
	return []theft{
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
		},
	}
}
